/** `layerwise/certify`: golden cases of the original implementations, rebuilt here and compared number for number. For Node. */
export { type Finding, type GoldenCase, isCase, systemOf, TOLERANCE } from "./case.ts";
export { certifyCase, type Verdict } from "./certify.ts";
