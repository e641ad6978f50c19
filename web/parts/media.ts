/** What the reader's system prefers, as signals: dark colours, less motion. */
import { type ReadonlySignal, signal } from "@preact/signals";

function preference(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const value = signal(list.matches);
  list.addEventListener("change", () => {
    value.value = list.matches;
  });
  return value;
}

export const darkMode = preference("(prefers-color-scheme: dark)");
export const reducedMotion = preference("(prefers-reduced-motion: reduce)");
