/** Training over MPI: the machine's Open MPI library, called through koffi, joins the processes that `mpirun` started. */
import { LayerwiseError, messageOf, reject } from "../base/errors.ts";
import type { World } from "../engine/engine.ts";

/** Processes that `mpirun` started with this one, by the variables that Open MPI sets; 1 where it started none. */
export function worldSize(env: Readonly<Record<string, string | undefined>> = process.env): number {
  return Number(env.OMPI_COMM_WORLD_SIZE ?? 1);
}

/** Which of them this process is. */
export function worldRank(env: Readonly<Record<string, string | undefined>> = process.env): number {
  return Number(env.OMPI_COMM_WORLD_RANK ?? 0);
}

/** Threads for each of the processes on this machine, where nobody says how many. */
export const threadsEach = (cores: number, env: Readonly<Record<string, string | undefined>> = process.env): number =>
  Math.max(1, Math.floor(cores / Number(env.OMPI_COMM_WORLD_LOCAL_SIZE ?? 1)));

/** Whether `mpirun` of another MPI started several processes: they would all train the same run. */
function refuseOthers(env: Readonly<Record<string, string | undefined>>): void {
  if (env.OMPI_COMM_WORLD_SIZE !== undefined || !(Number(env.PMI_SIZE ?? 1) > 1)) return;
  const remedy = "start it with Open MPI's mpirun";
  reject({ who: "mpi", needed: "Open MPI", got: "another MPI (PMI_SIZE is set)", remedy, code: "runtime" }, 2);
}

let joined: Promise<Omit<World, "localSteps"> | undefined> | undefined;

/** The processes that train together, joined once; none where this process was started alone. */
export async function joinWorld(localSteps = 1): Promise<World | undefined> {
  refuseOthers(process.env);
  joined ??= worldSize() > 1 ? join() : Promise.resolve(undefined);
  const world = await joined;
  if (!world && localSteps > 1) {
    const remedy = "start it with mpirun -n 2, or leave --local-steps out";
    reject({ who: "local steps", needed: "several processes", got: "one", remedy }, 2);
  }
  return world && { ...world, localSteps };
}

const LIBRARY = { linux: "libmpi.so.40", darwin: "libmpi.40.dylib", win32: "msmpi.dll" } as Record<string, string>;
/** Calls come from several threads of this process, one at a time. */
const SERIALIZED = 2;
/** Open MPI's `MPI_IN_PLACE`. */
const IN_PLACE = 1n;
/** MPI counts in 32-bit numbers. */
const MOST = 2 ** 30;

async function join(): Promise<Omit<World, "localSteps">> {
  const mpi = await openLibrary();
  mpi.init();
  const { rank, size } = mpi;
  // The others would wait for a process that failed: the whole job ends with its exit code.
  process.on("exit", (code) => (code === 0 ? mpi.finalize() : mpi.abort(code)));
  let waiting = false;
  if (rank === 0) process.on("SIGTERM", () => setTimeout(() => waiting && leave(), PATIENCE_MS).unref());
  return {
    rank,
    size,
    sum: async (values) => {
      waiting = true;
      for (let at = 0; at < values.length; at += MOST) await mpi.allReduce(values.subarray(at, at + MOST));
      waiting = false;
    },
  };
}

/** The first process never waits this long for others that are alive. */
const PATIENCE_MS = 300;

/** `mpirun` ends a job when one of its processes has ended: what is waited for will not come. */
function leave(): void {
  const what =
    "another process of this job has ended; the run stays at its last checkpoint, and layerwise resume goes on from there";
  process.stderr.write(`layerwise: ${what}\n`, () => process.exit(1));
}

type Koffi = typeof import("koffi")["default"];

async function openKoffi(): Promise<Koffi> {
  try {
    return (await import("koffi")).default;
  } catch (error) {
    const remedy = "install it with: npm install koffi@3";
    return reject({ who: "mpi", needed: "the package koffi", got: messageOf(error), remedy, code: "runtime" });
  }
}

/** The few functions of MPI that training needs. */
async function openLibrary() {
  const koffi = await openKoffi();
  const name = process.env.LAYERWISE_MPI ?? LIBRARY[process.platform] ?? "libmpi.so";
  const lib = loaded(() => koffi.load(name), name);
  const symbol = (each: string) => koffi.address(loaded(() => lib.symbol(each, "void"), name));
  const [world, float, double, sum] = ["comm_world", "float", "double", "op_sum"].map((each) =>
    symbol(`ompi_mpi_${each}`),
  );
  const initThread = lib.func("int MPI_Init_thread(void *argc, void *argv, int required, _Out_ int *provided)");
  const allReduce = lib.func(
    "int MPI_Allreduce(intptr_t send, void *recv, int count, intptr_t type, intptr_t op, intptr_t comm)",
  );
  const abort = lib.func("int MPI_Abort(intptr_t comm, int code)");
  const finalize = lib.func("int MPI_Finalize()");
  const type = (values: Float32Array | Float64Array) => (values instanceof Float64Array ? double : float);
  return {
    rank: worldRank(),
    size: worldSize(),
    init: () => {
      const provided = [0];
      check("MPI_Init_thread", initThread(null, null, SERIALIZED, provided));
      if (provided[0]! < SERIALIZED)
        reject({ who: "mpi", needed: "calls from several threads", got: `level ${provided[0]}` });
    },
    /** On another thread: signals still reach this process while it waits for the others. */
    allReduce: (values: Float32Array | Float64Array) =>
      new Promise<void>((done, fail) => {
        allReduce.async(IN_PLACE, values, values.length, type(values), sum, world, (error: unknown, code: number) => {
          if (error || code !== 0)
            fail(new LayerwiseError(`mpi: MPI_Allreduce failed: ${error ? messageOf(error) : code}`));
          else done();
        });
      }),
    abort: (code: number) => void abort(world, code),
    finalize: () => void finalize(),
  };
}

function loaded<T>(load: () => T, name: string): T {
  try {
    return load();
  } catch (error) {
    const remedy = "install Open MPI (Debian: openmpi-bin), or name its library in LAYERWISE_MPI";
    return reject({ who: "mpi", needed: `Open MPI's library ${name}`, got: messageOf(error), remedy, code: "runtime" });
  }
}

function check(name: string, code: number): void {
  if (code !== 0) throw new LayerwiseError(`mpi: ${name} failed with code ${code}`);
}
