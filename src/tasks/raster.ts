/** SVG to pixels: the only importer of resvg, which is loaded when a picture is asked for, with the font that the package ships. */
import { fileURLToPath } from "node:url";
import { messageOf } from "../base/errors.ts";
import type { Picture } from "../format/png.ts";
import { type Background, onBackground, PAPER } from "../pictures/svg.ts";

const FONTS = ["Regular", "SemiBold"].map((weight) =>
  fileURLToPath(new URL(`../../fonts/Inter-${weight}.ttf`, import.meta.url)),
);

/** How a picture becomes pixels. */
export interface RasterOptions {
  /** Default: light. */
  readonly background?: Background;
  /** In pixels. Default: the picture's own. */
  readonly width?: number;
}

/** Makes pixels of SVG. */
export interface Raster {
  /** Red, green, blue and opacity. */
  pixels(svg: string, options?: RasterOptions): Picture;
  /** A PNG file, and its size. */
  png(
    svg: string,
    options?: RasterOptions,
  ): { readonly width: number; readonly height: number; readonly bytes: Uint8Array };
}

/** Loads the rasteriser. Where the platform has none of its binaries, `because` says so: SVG can be drawn all the same. */
export async function openRaster(): Promise<Raster | { readonly because: string }> {
  try {
    const { Resvg } = await import("@resvg/resvg-js");
    const render = (svg: string, { background = "light", width }: RasterOptions = {}) =>
      new Resvg(onBackground(svg, background), {
        background: PAPER[background],
        font: { loadSystemFonts: false, fontFiles: FONTS, defaultFontFamily: "Inter" },
        ...(width === undefined ? {} : { fitTo: { mode: "width" as const, value: width } }),
      }).render();
    return {
      pixels: (svg, options) => {
        const { width, height, pixels } = render(svg, options);
        return { width, height, channels: 4, data: pixels };
      },
      png: (svg, options) => {
        const image = render(svg, options);
        return { width: image.width, height: image.height, bytes: image.asPng() };
      },
    };
  } catch (error) {
    return { because: `no PNG and no film, only SVG: @resvg/resvg-js cannot be loaded here (${messageOf(error)})` };
  }
}
