/** What a screen reader is told of a live page: politely, at most once in five seconds, the newest only. */
import { signal } from "@preact/signals";

const PAUSE_MS = 5000;
export const announced = signal("");
let [waiting, timer, last] = ["", 0, Number.NEGATIVE_INFINITY];

/** Says a sentence when five seconds have passed since the last one. */
export function announce(sentence: string): void {
  waiting = sentence;
  if (timer) return;
  timer = setTimeout(speak, Math.max(0, last + PAUSE_MS - performance.now()));
}

function speak(): void {
  timer = 0;
  last = performance.now();
  announced.value = waiting;
}
