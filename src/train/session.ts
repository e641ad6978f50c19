/** Work that tells what happens and ends with a result: iterate a session to watch it, or await its result. */
import { reject } from "../base/errors.ts";

/**
 * A session has one driver. Iterating runs it; `break` stops it after the present step, and its result then says so. Awaiting `result`
 * without iterating runs it to the end. An error surfaces where the session is driven, and again where the result is awaited.
 */
export interface Session<E, R> extends AsyncIterable<E> {
  /** What the session ends with; awaiting it runs the session unless somebody iterates. */
  readonly result: Promise<R>;
}

/** What may be stopped on the way. */
export interface Stoppable {
  /** Stops after the present step. */
  readonly signal?: AbortSignal | undefined;
}

/** Starts the work; `signal` is aborted when the session is to stop, and the generator then ends in good order. */
export type Work<E, R> = (signal: AbortSignal) => AsyncGenerator<E, R, void>;

/** A session over a generator; nothing happens before it is driven. `signal` stops it from outside. */
export function startSession<E, R>(work: Work<E, R>, signal?: AbortSignal): Session<E, R> {
  return new GeneratorSession(work, signal);
}

/** A session's events and then its result, for work that is made of others. */
export async function* relayed<E, R>(session: Session<E, R>): AsyncGenerator<E, R, void> {
  for await (const event of session) yield event;
  return session.result;
}

/** Events on their way, each shown to `see` before it goes on; where nobody wants more of them, their source is ended too. */
export async function* watched<E, R>(
  events: AsyncGenerator<E, R, void>,
  see: (event: E) => unknown,
): AsyncGenerator<E, R, void> {
  try {
    for (;;) {
      const { value, done } = await events.next();
      if (done) return value;
      await see(value);
      yield value;
    }
  } finally {
    await events.return(undefined as never);
  }
}

class GeneratorSession<E, R> implements Session<E, R> {
  readonly result: Promise<R>;
  readonly #controller = new AbortController();
  readonly #events: AsyncGenerator<E, R, void>;
  #resolve: (result: R) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #driven = false;

  constructor(work: Work<E, R>, signal?: AbortSignal) {
    const own = this.#controller.signal;
    this.#events = work(signal ? AbortSignal.any([signal, own]) : own);
    const settled = new Promise<R>((resolve, reject) => {
      [this.#resolve, this.#reject] = [resolve, reject];
    });
    settled.catch(() => {}); // whoever drives the session sees the error
    this.result = new OnDemand(settled, () => this.#drainUnlessDriven());
  }

  [Symbol.asyncIterator](): AsyncIterator<E, void> {
    if (this.#driven) {
      const remedy = "iterate it once, or await its result instead";
      reject({ who: "session", needed: "one driver", got: "a second", remedy });
    }
    this.#driven = true;
    return { next: () => this.#next(), return: () => this.#stop() };
  }

  async #next(): Promise<IteratorResult<E, void>> {
    try {
      const { value, done } = await this.#events.next();
      if (!done) return { value, done: false };
      this.#resolve(value);
      return { value: undefined, done: true };
    } catch (error) {
      this.#reject(error);
      throw error;
    }
  }

  async #stop(): Promise<IteratorResult<E, void>> {
    this.#controller.abort();
    await this.#drain();
    return { value: undefined, done: true };
  }

  async #drain(): Promise<void> {
    while (!(await this.#next()).done);
  }

  #drainUnlessDriven(): void {
    if (this.#driven) return;
    this.#driven = true;
    this.#drain().catch(() => {}); // the result is rejected
  }
}

/** A promise whose work begins when somebody waits for it. */
class OnDemand<R> implements Promise<R> {
  readonly [Symbol.toStringTag] = "Promise";
  readonly #settled: Promise<R>;
  readonly #begin: () => void;

  constructor(settled: Promise<R>, begin: () => void) {
    [this.#settled, this.#begin] = [settled, begin];
  }

  // biome-ignore lint/suspicious/noThenProperty: a native promise is awaited without a call of `then`, and could not begin on demand
  then<A = R, B = never>(
    fulfilled?: ((value: R) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#begin();
    return this.#settled.then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<R | B> {
    return this.then(undefined, rejected);
  }

  finally(done?: (() => void) | null): Promise<R> {
    this.#begin();
    return this.#settled.finally(done);
  }
}
