/** Writes docs/pictures out of the folder of a tour, the pictures of its report and the film of its search: npx tsx scripts/tour-pictures.ts FOLDER. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The pictures of a report in their order. */
const names = ["share", "unshared", "search", "sentence", "kinds"];
const films = ["pi.gif", "pi-dark.gif"];

const [folder = "."] = process.argv.slice(2);
const out = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const pictures = readFileSync(join(folder, "report.html"), "utf8").match(/<svg[\s\S]*?<\/svg>/g) ?? [];
const missing = films.map((name) => join(folder, "search", "pictures", name)).find((path) => !existsSync(path));
if (pictures.length !== names.length || missing !== undefined)
  throw new Error(`expected a finished tour's ${names.length} pictures and films, got ${missing ?? pictures.length}`);
mkdirSync(out, { recursive: true });
for (const [i, name] of names.entries()) writeFileSync(join(out, `${name}.svg`), `${pictures[i]}\n`);
for (const name of films) copyFileSync(join(folder, "search", "pictures", name), join(out, name));
