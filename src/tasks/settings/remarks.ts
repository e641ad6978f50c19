/** What help says of settings besides their descriptions. */
import type { FieldInfo } from "../../runs/fields.ts";

/** A setting as a task has it. */
export interface SettingUse {
  readonly task: string;
  readonly info: FieldInfo;
}

/** What help says of a setting that several of `tasks` tasks have: whose it is, where not all have it, and its defaults. */
export function remarksOn(uses: readonly SettingUse[], tasks: number): string[] {
  const shown = uses.map(({ task, info: { kind, value, show } }) => {
    return { task, value: value === null || kind === "switch" ? "" : show(value) };
  });
  const [first, ...rest] = shown;
  const others = rest.filter(({ value }) => value !== "" && value !== first!.value);
  return [
    ...(uses.length < tasks ? [`${first!.task} only`] : []),
    ...(first!.value === "" ? [] : [`default: ${first!.value}`]),
    ...others.map(({ task, value }) => `${task}: ${value}`),
  ];
}
