/** The engine of pages without a runtime, for itself: bundlers make a file of it that other pages do not load. */
export { referenceEngine } from "./reference.ts";
