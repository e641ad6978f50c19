/** Sweeps of processes that `mpirun` started: the first one decides and writes, all of them train each trial together. */
import { reject } from "../base/errors.ts";
import type { World } from "../engine/engine.ts";
import { joinWorld, worldSize } from "../tasks/mpi.ts";
import type { Given } from "../tasks/text-data.ts";
import { Diverged } from "../train/diverged.ts";
import { rowsEach, told } from "../train/world.ts";
import type { Launcher, SweepEvent } from "./launcher.ts";
import { carryOut, type RunOrder, type SingleOrder } from "./orders.ts";
import { redacted } from "./queue/connection.ts";
import type { SweepPlan } from "./sweep-plan.ts";

/** What the first process tells the others: a run that all of them train, or what the sweep came to. */
type Word<R> = { readonly order: RunOrder<SingleOrder> } | { readonly result: R };

/** The processes that share each trial; none where this one was started alone. Launchers that run trials elsewhere are refused. */
export async function worldOf(on: string | Launcher | undefined): Promise<World | undefined> {
  const isHere = typeof on === "object" ? on.together : on === undefined || /^local(:1)?$/.test(on);
  if (worldSize() > 1 && !isHere) {
    const got = typeof on === "string" ? `--on ${redacted(on)}` : "a launcher that runs them elsewhere";
    const remedy = "leave --on out, or start the sweep without mpirun";
    reject({ who: "sweep", needed: "trials in the processes of mpirun", got, remedy }, 2);
  }
  return joinWorld();
}

/** Leads a sweep in the first process; the others train what it tells them to, and end with its result. An error ends the whole job. */
export async function* together<R>(
  world: World | undefined,
  given: Given,
  lead: () => AsyncGenerator<SweepEvent, R, void>,
): AsyncGenerator<SweepEvent, R, void> {
  if ((world?.rank ?? 0) === 0) {
    const result = yield* lead();
    if (world) await told<Word<R>>(world, () => ({ result }));
    return result;
  }
  for (;;) {
    const word = await told<Word<R>>(world, () =>
      reject({ who: "sweep", needed: "the first process", got: "another" }),
    );
    if ("result" in word) return word.result;
    await follow(word.order, given);
  }
}

/** Tells the others what to train next. */
export const announce = (world: World, order: RunOrder<SingleOrder>): Promise<unknown> =>
  told(world, () => ({ order }));

/** Trains along. The first process says when to stop, and writes down why a run diverged. */
async function follow(order: RunOrder<SingleOrder>, given: Given): Promise<void> {
  try {
    await (await carryOut(order, new AbortController().signal, given)).result;
  } catch (error) {
    if (!(error instanceof Diverged)) throw error;
  }
}

/** Refuses batches that the processes cannot share evenly, before there is a folder. */
export function refuseUneven({ candidates, settingsOf, spec }: SweepPlan, world: World): void {
  candidates.forEach((_, candidate) => {
    const { batch } = settingsOf(candidate, 0, spec.seeds[0]!);
    if (typeof batch === "number") rowsEach(batch, world);
  });
}
