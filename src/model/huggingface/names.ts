/** Names of parameters in PyTorch: ours, but for those of relaxed sharing, since no parameter can lie below another there. */

/** The layout of exported files; a reader of another one refuses it. */
export const LAYOUT = 1;

const atVisit = /\.(weight|bias)\.visit(\d+)(?:\.(down|up))?$/;

/** `qkv.weight.visit2.down` → `qkv.weight_visit2_down`. */
export const torchName = (own: string): string =>
  own.replace(atVisit, (_, part: string, visit: string, factor?: string) => {
    return `.${part}_visit${visit}${factor ? `_${factor}` : ""}`;
  });

const asWritten = /\.(weight|bias)_visit(\d+)(?:_(down|up))?$/;

/** Our name of a parameter of modeling_layerwise.py. */
export const nameFromTorch = (foreign: string): string =>
  foreign.replace(asWritten, (_, part: string, visit: string, factor?: string) => {
    return `.${part}.visit${visit}${factor ? `.${factor}` : ""}`;
  });
