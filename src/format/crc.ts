/** CRC-32 (PNG, zip) and CRC-32C (Castagnoli), eight bytes per round, and the masked form that TFRecord files store. */

const CRC32 = tablesOf(0xedb88320);
const CRC32C = tablesOf(0x82f63b78);
const MASK_DELTA = 0xa282ead8;

/** Eight tables in one: `tables[256·k + b]` carries byte b over k further zero bytes. */
function tablesOf(polynomial: number): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[byte] = crc >>> 0;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256]!;
    tables[i] = (before >>> 8) ^ tables[before & 255]!;
  }
  return tables;
}

/** The CRC-32 of `bytes`. */
export const crc32 = (bytes: Uint8Array): number => crcOf(CRC32, bytes, 0);

/** The CRC-32C of `bytes`, or its continuation from the CRC of what came before. */
export const crc32c = (bytes: Uint8Array, before = 0): number => crcOf(CRC32C, bytes, before);

function crcOf(t: Uint32Array, bytes: Uint8Array, before: number): number {
  let crc = ~before;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc =
      t[1792 + (crc & 255)]! ^
      t[1536 + ((crc >>> 8) & 255)]! ^
      t[1280 + ((crc >>> 16) & 255)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + bytes[i + 4]!]! ^
      t[512 + bytes[i + 5]!]! ^
      t[256 + bytes[i + 6]!]! ^
      t[bytes[i + 7]!]!;
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ t[(crc ^ bytes[i]!) & 255]!;
  return ~crc >>> 0;
}

/** TFRecord's masked CRC: rotated right by 15 bits plus a constant, so that a CRC of data that holds CRCs stays useful. */
export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}
