/** File formats as bytes in and bytes out; nothing here opens a file. */
export { encodeFilm, encodeGif, type FilmOptions, type Frame } from "./gif.ts";
export type { ReadLimits } from "./limits.ts";
export type { NpyData } from "./npy.ts";
export { type NpyArray, readNpy, writeNpy } from "./npy.ts";
export { encodePng, type Picture } from "./png.ts";
export {
  type Dtype,
  int32Of,
  readSafetensors,
  type SafetensorsContent,
  type StoredDtype,
  type StoredTensor,
  type TensorData,
  type TensorRecord,
  writeSafetensors,
} from "./safetensors.ts";
export { readTorch } from "./torch.ts";
