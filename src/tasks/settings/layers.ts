/** Settings from several places: a preset, a file, and what lies on top of both. */
import type { FieldInfo } from "../../runs/fields.ts";
import type { Layer, SettingsSchema, Values } from "../../runs/settings.ts";

/** Where settings come from besides values: a preset by name, a YAML file by path. */
export interface SettingsSources {
  readonly preset?: string | undefined;
  readonly config?: string | undefined;
}

/** Preset and file as layers, the last one on top; `say` hears of settings under former names. */
export async function settingsLayers<S extends object>(
  schema: SettingsSchema<S, object>,
  { preset, config }: SettingsSources,
  say: (message: string) => void = () => {},
): Promise<Layer<S>[]> {
  return [
    ...(preset === undefined ? [] : [schema.preset(preset)]),
    ...(config === undefined ? [] : [{ source: config, values: await settingsIn(schema, config, say) }]),
  ];
}

async function settingsIn<S extends object>(
  schema: SettingsSchema<S, object>,
  path: string,
  say: (message: string) => void,
): Promise<Partial<S>> {
  const { parseSettings, parseYaml } = await import("../../runs/settings-file.ts");
  const { formerNames } = await import("../../runs/names.ts");
  const text = await readText(path);
  const settings = parseSettings(schema, text, path);
  for (const key of Object.keys(parseYaml(text, path)).filter((each) => each in formerNames)) {
    say(`${path}: ${key} is called ${formerNames[key]} now`);
  }
  return settings;
}

const readText = async (path: string) => (await import("../../files/text.ts")).readText(path, "config");

/** The schema that a task's name, the file or the preset asks for; the first where none does. */
export async function schemaFor<T extends SettingsSchema>(
  schemas: readonly T[],
  { task, preset, config }: SettingsSources & { readonly task?: string | undefined },
): Promise<T> {
  const named = task ?? (await taskIn(config));
  const found =
    named === undefined
      ? schemas.find(({ presets }) => preset !== undefined && Object.hasOwn(presets, preset))
      : schemas.find((schema) => schema.task === named);
  return found ?? schemas[0]!;
}

async function taskIn(path: string | undefined): Promise<unknown> {
  if (path === undefined) return undefined;
  const { parseYaml } = await import("../../runs/settings-file.ts");
  return parseYaml(await readText(path), path).task;
}

/** The settings among words, such as flags: read, but not checked. False says of what is no switch that there is none. */
export function wordsAsSettings(schema: SettingsSchema, words: Values): Values {
  const infos = schema.describe().filter(({ key }) => words[key] !== undefined);
  return Object.fromEntries(infos.map((info) => [info.key, wordValue(info, words[info.key])]));
}

function wordValue({ kind, read }: FieldInfo, given: unknown): unknown {
  if (kind === "text" && typeof given === "string") return read(given);
  return kind !== "switch" && given === false ? null : given;
}
