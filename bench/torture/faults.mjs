/**
 * Loaded before a command: names each of its writing file operations, and kills it, or fails one.
 * LAYERWISE_FAULT=kill:7, EIO:7 or ENOSPC:7 does so at the seventh operation; LAYERWISE_FAULT=sweep kills where LAYERWISE_FAULT_ORDER
 * says, a file with { at: place } or { covered: [place, …], middles, skip }: there, or at the first place that is not covered, after
 * `skip` such places that are left to others. A place is before an operation, in the middle of one that has a middle (passed over unless `middles`), or after the last. LAYERWISE_FAULT_TRACE is the file in
 * which the places that were met are left, and the one of the kill.
 */
import fs from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const [kind = "", number = "0"] = (process.env.LAYERWISE_FAULT ?? "").split(":");
const { LAYERWISE_FAULT_ORDER: order, LAYERWISE_FAULT_TRACE: trace, LAYERWISE_FAULT_ROOT: root = "" } = process.env;
const original = { ...fs };
const { at, covered, middles: wanted, skip = 0 } = order ? JSON.parse(fs.readFileSync(order, "utf8")) : {};
const known = covered ? new Set(covered) : undefined;
const places = [];
const times = new Map();
const paths = new Map(); // of open files, by descriptor
let count = 0;
let skipped = 0;
let depth = 0; // functions of `fs` call one another

const isDue = (place, isMiddle) => (known ? !known.has(place) && (wanted || !isMiddle) : place === at);

/** A path without what differs from process to process. */
const steady = (path) =>
  String(path)
    .replaceAll(root, "")
    .replace(/\.\d+\.[0-9a-f]{8,16}(\.old)?\.tmp/g, ".*$1.tmp")
    .replace(/\.tmp-[0-9a-f]+/g, ".tmp-*")
    .replace(/(tfevents)\.\d+\.[^/]*/g, "$1.*");

/** How far a run is, for what is written again and again: the newest checkpoint of its folder. */
function progress(name, path) {
  if (!/^append/.test(name) && !/checkpoints|events\.jsonl$/.test(path)) return "";
  const run = /^(.*?)\/(checkpoints|tensorboard|[^/]*$)/.exec(path)[0].replace(/[^/]*$/, "checkpoints");
  const names = original.existsSync(run) ? original.readdirSync(run) : [];
  const newest = names
    .filter((each) => /^step-\d+$/.test(each))
    .sort()
    .at(-1);
  return newest ? ` after ${newest.replace(/-0+/, " ")}` : "";
}

function leave(killed) {
  if (trace) original.writeFileSync(trace, JSON.stringify({ places, killed, operations: count }));
}

function kill(place) {
  leave(place);
  process.kill(process.pid, "SIGKILL");
  for (;;); // until it arrives
}

/** The end, if this is the place for it, once `until` has been done. */
function visit(place, until) {
  places.push(place);
  if (kind !== "sweep" || !isDue(place, until !== undefined)) return;
  if (known && skipped++ < skip) return;
  depth++; // what is done by then is no operation of the command
  until?.();
  kill(place);
}

/** Before each operation: nothing, the end, or an error as the system would give it. */
function meet(name, path, middles) {
  count++;
  const what = `${name.replace("Sync", "")} ${steady(path)}${progress(name, String(path))}`;
  times.set(what, (times.get(what) ?? 0) + 1);
  const place = `${what}, ${times.get(what)}`;
  visit(place);
  for (const [moment, until] of Object.entries(middles)) visit(`${place}: ${moment}`, until);
  if (kind === "sweep" || count !== Number(number)) return;
  if (kind === "kill") kill(place);
  throw Object.assign(new Error(`${kind}: injected, ${name}`), { code: kind, syscall: name });
}

const halfOf = (data) => {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  return ArrayBuffer.isView(bytes) && bytes.byteLength > 1
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 1)
    : undefined;
};

/** What a write leaves when it is cut short: a new file that is empty, and half of the bytes. */
function middlesOfWrite(target, data, flag) {
  const half = halfOf(data);
  const write = (bytes) =>
    typeof target === "number" ? original.writeSync(target, bytes) : original.writeFileSync(target, bytes, { flag });
  const isNew = typeof target !== "number" && (flag !== "a" || !original.existsSync(target));
  return {
    ...(isNew ? { empty: () => write("") } : {}),
    ...(half ? { half: () => write(half) } : {}),
  };
}

/** What the removal of a folder leaves when it is cut short: some of its files. */
function middlesOfRemoval(path) {
  const isFolder = original.statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const names = isFolder ? original.readdirSync(path) : [];
  const half = () => {
    for (const name of names.slice(0, Math.ceil(names.length / 2)))
      original.rmSync(`${path}/${name}`, { recursive: true });
  };
  return names.length > 0 ? { half } : {};
}

const flagOf = (options, otherwise) => (typeof options === "object" ? options?.flag : undefined) ?? otherwise;
const writes = (flags) => (typeof flags === "string" ? /[wa+]/.test(flags) : (flags & 3) !== 0);

/** By function: the path of what it writes and its middles; undefined where it writes nothing. */
const plainly = (path) => ({ path, middles: {} });
const pair = (from, to) => ({ path: `${from} → ${to}`, middles: {} });
const removal = (path) => ({ path, middles: middlesOfRemoval(path) });
const writing = (otherwise) => (path, data, options) => ({
  path: typeof path === "number" ? paths.get(path) : path,
  middles: middlesOfWrite(path, data, flagOf(options, otherwise)),
});
const opening = (path, flags = "r") => (writes(flags) ? plainly(path) : undefined);
const operations = {
  open: opening,
  writeFile: writing("w"),
  appendFile: writing("a"),
  rename: pair,
  link: pair,
  symlink: pair,
  copyFile: pair,
  cp: pair,
  mkdir: plainly,
  mkdtemp: plainly,
  rm: removal,
  rmdir: plainly,
  unlink: plainly,
  truncate: plainly,
  chmod: plainly,
  utimes: plainly,
};
const ofDescriptor = {
  write: (fd, data) => ({ path: paths.get(fd), middles: middlesOfWrite(fd, data) }),
  writev: (fd) => plainly(paths.get(fd)),
  fsync: (fd) => plainly(paths.get(fd)),
  fdatasync: (fd) => plainly(paths.get(fd)),
  ftruncate: (fd) => plainly(paths.get(fd)),
};
const ofHandle = {
  write: (fd, data) => ofDescriptor.write(fd, data),
  writev: ofDescriptor.writev,
  writeFile: (fd, data) => ofDescriptor.write(fd, data),
  appendFile: (fd, data) => ofDescriptor.write(fd, data),
  sync: ofDescriptor.fsync,
  datasync: ofDescriptor.fsync,
  truncate: ofDescriptor.ftruncate,
};

function guardSync(name, describe) {
  const inner = fs[name];
  fs[name] = (...args) => {
    const found = depth === 0 ? describe(...args) : undefined;
    if (found && !isOutput(args[0])) meet(name, found.path, found.middles);
    depth++;
    try {
      const result = inner.apply(fs, args);
      if (name === "openSync") paths.set(result, args[0]);
      return result;
    } finally {
      depth--;
    }
  };
}

/** Standard output and standard error are no files of the command. */
const isOutput = (target) => target === 1 || target === 2;

function guardAsync(object, name, describe, own) {
  const inner = object[name];
  object[name] = async function (...args) {
    const found = describe(...(own ? [this.fd, ...args] : args));
    if (found) meet(name, found.path, found.middles);
    const result = await inner.apply(this, args);
    if (name === "open") paths.set(result.fd, args[0]);
    return result;
  };
}

const handle = await open("/dev/null", "r");
for (const [name, describe] of Object.entries(ofHandle))
  guardAsync(Object.getPrototypeOf(handle), name, describe, true);
await handle.close();
for (const [name, describe] of Object.entries(operations)) guardAsync(fs.promises, name, describe, false);
for (const [name, describe] of Object.entries({ ...operations, ...ofDescriptor })) guardSync(`${name}Sync`, describe);
syncBuiltinESMExports();

if (kind === "sweep") {
  // A clock that shows a second more at each look: what is written now and then is written at the same places in every run.
  let now = Date.now();
  Date.now = () => (now += 1000);
}
process.on("exit", (code) => {
  if (code === 0) visit("the last");
  leave(null);
});
