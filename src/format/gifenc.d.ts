/** The part of gifenc 1.0.3 that is used here; it comes without types. */
declare module "gifenc" {
  export interface GifFrameOptions {
    /** Red, green and blue of each value; the first frame's is that of all frames without one. */
    palette?: readonly (readonly number[])[];
    /** Milliseconds that the frame stays. */
    delay?: number;
  }

  export interface GifWriter {
    writeFrame(pixels: Uint8Array, width: number, height: number, options?: GifFrameOptions): void;
    finish(): void;
    bytes(): Uint8Array<ArrayBuffer>;
  }

  type NewGifWriter = () => GifWriter;

  /** Node loads its CommonJS build, an object of functions; bundlers its ES module, the function itself. */
  const gifenc: NewGifWriter | { readonly GIFEncoder: NewGifWriter };
  export default gifenc;
}
