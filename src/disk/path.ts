/** Node's `path`, as it is on systems with `/`. */
import { absolute } from "./memory.ts";

export const sep = "/";

function normalise(path: string): string {
  const rooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part === ".." ? !rooted : part !== "" && part !== ".") parts.push(part);
  }
  return (rooted ? "/" : "") + parts.join("/") + (path.endsWith("/") && parts.length > 0 ? "/" : "") || ".";
}

export const join = (...parts: string[]): string => normalise(parts.filter((part) => part !== "").join("/"));

export function resolve(...parts: string[]): string {
  const from = parts.findLastIndex((part) => part.startsWith("/"));
  return absolute(parts.slice(Math.max(0, from)).join("/"));
}

export function basename(path: string, ending = ""): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1)!;
  return ending !== "" && name !== ending && name.endsWith(ending) ? name.slice(0, -ending.length) : name;
}

export function dirname(path: string): string {
  const inner = path.replace(/\/+$/, "");
  const at = inner.lastIndexOf("/");
  if (at < 0) return path.startsWith("/") ? "/" : ".";
  return inner.slice(0, at) || "/";
}

export const extname = (path: string): string => /[^/.](\.[^./]*)$/.exec(path)?.[1] ?? "";

export function relative(from: string, to: string): string {
  const [a, b] = [from, to].map((path) => resolve(path).split("/").filter(Boolean)) as [string[], string[]];
  const same = a.findIndex((part, i) => part !== b[i]);
  const common = same < 0 ? a.length : same;
  return [...a.slice(common).map(() => ".."), ...b.slice(common)].join("/");
}

export default { basename, dirname, extname, join, relative, resolve, sep };
