/** The part of gifenc 1.0.3 that is used here; it comes without types. */
declare module "gifenc" {
  export interface GifFrameOptions {
    /** Red, green and blue of each value; the first frame's is that of all frames without one. */
    palette?: readonly (readonly number[])[];
    /** Milliseconds that the frame stays. */
    delay?: number;
    /** Pixels of this value show what is below. */
    transparent?: boolean;
    transparentIndex?: number;
    /** What becomes of the frame: 1 leaves it in place. */
    dispose?: number;
  }

  export interface GifWriter {
    writeFrame(pixels: Uint8Array, width: number, height: number, options?: GifFrameOptions): void;
    finish(): void;
    bytes(): Uint8Array<ArrayBuffer>;
  }

  /** What the package exports. */
  export interface Gifenc {
    GIFEncoder(): GifWriter;
    /** At most `colours` colours that stand for those of pixels with red, green, blue and opacity. */
    quantize(pixels: Uint8Array, colours: number): number[][];
    /** The place in the palette of each pixel. */
    applyPalette(pixels: Uint8Array, palette: readonly (readonly number[])[]): Uint8Array;
  }

  export const GIFEncoder: Gifenc["GIFEncoder"];
  export const quantize: Gifenc["quantize"];
  export const applyPalette: Gifenc["applyPalette"];
}
