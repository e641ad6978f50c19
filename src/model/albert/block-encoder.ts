/** ALBERT with blocks of their own weights in place of shared layers. */
import { Albert, type AlbertOptions } from "./albert.ts";
import { encoderBlocks } from "./blocks.ts";

/** An encoder of blocks with weights of their own, by `blocks` and `searched`; all else is as in `albert`. */
export const blockEncoder = (options: AlbertOptions): Albert => new Albert(options, encoderBlocks);
