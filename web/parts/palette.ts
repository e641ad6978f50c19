/** Colours: an even scale for heat maps and depths, and the text that stays readable on it. */

/** Viridis, nine stops: even in lightness, also for readers who do not tell red from green. */
const STOPS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const CHANNELS = STOPS.map((stop) => [1, 3, 5].map((at) => Number.parseInt(stop.slice(at, at + 2), 16)));

export type Rgb = readonly [number, number, number];

/** A colour for a fraction of 0 to 1. */
export function scale(fraction: number): Rgb {
  const at = Math.max(0, Math.min(1, Number.isFinite(fraction) ? fraction : 0)) * (CHANNELS.length - 1);
  const below = Math.min(CHANNELS.length - 2, Math.floor(at));
  const mix = (i: number) =>
    Math.round(CHANNELS[below]![i]! + (at - below) * (CHANNELS[below + 1]![i]! - CHANNELS[below]![i]!));
  return [mix(0), mix(1), mix(2)];
}

export const css = ([red, green, blue]: Rgb): string => `rgb(${red} ${green} ${blue})`;

/** Black or white, whichever has more contrast (WCAG's relative luminance). */
export function inkOn(colour: Rgb): string {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** Lines of several runs differ in colour and in dash. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 4, 2, 4], [5, 3]];
export const SERIES = 8;
export const dashOf = (index: number): readonly number[] => DASHES[Math.floor(index / SERIES) % DASHES.length]!;

/** A colour of the page's style sheet, as it is now: it follows light and dark. */
export const token = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
