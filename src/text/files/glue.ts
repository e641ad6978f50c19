/** GLUE's files: where they are, and the examples in them. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { reject } from "../../base/errors.ts";
import { readLines } from "../../files/lines.ts";
import { type GlueExample, type GlueReading, parseGlue } from "../labelled/glue-examples.ts";
import type { GlueTask } from "../labelled/glue-tasks.ts";

/** The file of a split; `folder` holds the tasks' folders, or is the task's own. */
export function glueFile(task: GlueTask, split: string, folder: string): string {
  const names = Object.hasOwn(task.files, split) ? task.files[split] : undefined;
  if (!names) {
    const needed = `a split of ${Object.keys(task.files).join(", ")}`;
    return reject({ who: task.name, needed, got: split }, 2);
  }
  const places = [folder, ...task.folders.map((name) => join(folder, name))];
  const paths = places.flatMap((place) => names.map((name) => join(place, name)));
  const path = paths.find((each) => existsSync(each));
  if (path !== undefined) return path;
  const got = `none of ${paths.slice(names.length).join(", ")}`;
  return reject({ who: task.name, needed: `its ${split} file`, got, remedy: "say with --glue where GLUE lies" }, 2);
}

/** Whether there is such a file. */
export function hasGlueFile(task: GlueTask, split: string, folder: string): boolean {
  const names = Object.hasOwn(task.files, split) ? task.files[split]! : [];
  return [folder, ...task.folders.map((name) => join(folder, name))].some((place) =>
    names.some((name) => existsSync(join(place, name))),
  );
}

/** Reads a split; `warn` is told of lines that are left out. */
export function readGlue(
  task: GlueTask,
  split: string,
  folder: string,
  options: Omit<GlueReading, "source"> = {},
): GlueExample[] {
  const source = glueFile(task, split, folder);
  return parseGlue(readLines(source), task, split, { ...options, source });
}
