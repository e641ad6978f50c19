/** Loaded before a command: counts its writing file operations and kills it, or fails one, at the n-th. Set by LAYERWISE_FAULT. */
import fs, { writeFileSync as report } from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const [kind = "", at = "0"] = (process.env.LAYERWISE_FAULT ?? "").split(":");
const counted = process.env.LAYERWISE_FAULT_COUNT;
let count = 0;

/** Before each operation: nothing, the end, or an error as the system would give it. */
function meet(name) {
  if (++count !== Number(at)) return;
  if (kind === "kill") process.kill(process.pid, "SIGKILL");
  throw Object.assign(new Error(`${kind}: injected, ${name}`), { code: kind, syscall: name });
}

const writes = (flags) => typeof flags === "string" && /[wa+]/.test(flags);
const isWriting = (name, args) => (name === "open" || name === "openSync" ? writes(args[1]) : true);

function guard(object, names) {
  for (const name of names) {
    const original = object[name];
    const isAsync = object !== fs;
    object[name] = function (...args) {
      if (!isWriting(name, args)) return original.apply(this, args);
      if (!isAsync) meet(name);
      else
        try {
          meet(name);
        } catch (error) {
          return Promise.reject(error);
        }
      return original.apply(this, args);
    };
  }
}

const handle = await open("/dev/null", "r");
guard(Object.getPrototypeOf(handle), ["writeFile", "write", "sync"]);
await handle.close();
guard(fs.promises, ["open", "rename", "mkdir", "rm", "writeFile"]);
guard(fs, [
  "openSync",
  "writeFileSync",
  "appendFileSync",
  "renameSync",
  "fsyncSync",
  "mkdirSync",
  "rmSync",
  "linkSync",
  "closeSync",
]);
syncBuiltinESMExports();
if (counted) process.on("exit", () => report(counted, String(count)));
