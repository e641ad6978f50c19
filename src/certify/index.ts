/** `layerwise/certify`: golden cases of the original implementations, rebuilt here and compared number for number. For Node. */
export { type CaseFiles, type Finding, type GoldenCase, isCase, openCase, systemOf, TOLERANCE } from "./case.ts";
export { certifyCase, certifyFiles, type Verdict } from "./certify.ts";
export { type Totals, totalsOf, verdictTable } from "./report.ts";
