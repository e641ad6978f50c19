/** Writes docs/pictures/*.svg out of the report of a tour: npx tsx scripts/tour-pictures.ts FOLDER. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The pictures of a report in their order. */
const names = ["share", "unshared", "search", "sentence", "kinds"];

const [folder = "."] = process.argv.slice(2);
const out = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const pictures = readFileSync(join(folder, "report.html"), "utf8").match(/<svg[\s\S]*?<\/svg>/g) ?? [];
if (pictures.length !== names.length)
  throw new Error(`expected a finished tour's ${names.length} pictures, got ${pictures.length}`);
mkdirSync(out, { recursive: true });
for (const [i, name] of names.entries()) writeFileSync(join(out, `${name}.svg`), `${pictures[i]}\n`);
