/** `layerwise schema`: the settings of a task as JSON Schema, for editors and forms. */
import { settingsNamed, taskNames } from "../../tasks/settings/index.ts";
import type { Command } from "../command.ts";

const examples = `
A YAML file is checked by editors that know its schema: put this into its first line.
  # yaml-language-server: $schema=search.schema.json

Examples:
  layerwise schema                                   the tasks and their presets
  layerwise schema search > search.schema.json
  layerwise schema --json                            {task: schema, …} of all tasks`;

/** Adds `schema`. */
export function addSchema(program: Command): void {
  program
    .command("schema")
    .argumentAmong("[task]", taskNames)
    .option("--json", "without a task: print the schemas of all, by name")
    .explain(examples)
    .action(run);
}

async function run(task: string | undefined, { json }: { json?: boolean }): Promise<void> {
  if (task !== undefined) return print((await settingsNamed(task)).jsonSchema());
  const all = await Promise.all(taskNames.map(settingsNamed));
  if (json) return print(Object.fromEntries(all.map((each) => [each.task, each.jsonSchema()])));
  const { table } = await import("../../base/index.ts");
  const rows = all.map(({ task, keys, presets }) => {
    return { task, settings: keys.length, presets: Object.keys(presets).join(", ") };
  });
  process.stdout.write(`${table(rows)}\n`);
}

const print = (value: unknown) => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
