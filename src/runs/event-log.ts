/** The lines of events.jsonl: one event each, with the time it came and a checksum; numbers that JSON lacks are stored as strings. */
import { decodeJson, encodeJson } from "../base/json.ts";
import { crc32c } from "../format/crc.ts";
import type { EndEvent, EvaluationEvent, StepEvent } from "../train/events.ts";

export { decodeJson, encodeJson };

/** The events that are written down; checkpoints have folders of their own. */
export type LoggedEvent = StepEvent | EvaluationEvent | EndEvent;

/** An event as stored: `timeMs` is the clock's time, in milliseconds since 1970. */
export type StoredEvent = LoggedEvent & { readonly timeMs: number };

/** The numbers that an event has by its type, besides step and time. */
const NUMBERS: Readonly<Record<LoggedEvent["type"], readonly string[]>> = {
  step: ["loss", "learningRate", "gradientNorm", "tokensPerSecond", "epoch"],
  evaluation: ["loss"],
  end: ["elapsedMs"],
};
const CRC = /,"crc":"([0-9a-f]{8})"\}$/;
/** Lines of older versions have no checksum and end with their time; anything else that stands last is a damaged checksum. */
const WITHOUT_CRC = /"timeMs":[0-9.]+\}$/;
const utf8 = new TextEncoder();
const crcOf = (json: string) => crc32c(utf8.encode(json)).toString(16).padStart(8, "0");

/** One line, with its end. */
export function encodeEvent(event: StoredEvent): string {
  const json = encodeJson({ ...{ type: event.type, step: event.step }, ...event });
  return `${json.slice(0, -1)},"crc":"${crcOf(json)}"}\n`;
}

/** The lines of many events, in blocks: together they may be longer than a string can be. */
export function* encodeEvents(events: readonly StoredEvent[]): Generator<string> {
  for (let at = 0; at < events.length; at += 1000)
    yield events
      .slice(at, at + 1000)
      .map(encodeEvent)
      .join("");
}

/** The events of a log, and how many of its lines are none: damaged ones, and a last one that a kill cut short. */
export interface EventLog {
  readonly events: StoredEvent[];
  readonly damaged: number;
}

/** Reads lines; what is no event is passed over and counted. Lines of older versions have no checksum. */
export function decodeEvents(lines: Iterable<string>): EventLog {
  const events: StoredEvent[] = [];
  let damaged = 0;
  for (const line of lines) {
    const event = line === "" ? undefined : decodeEvent(line);
    if (event) events.push(event);
    else if (line !== "") damaged++;
  }
  return { events, damaged };
}

/** The events in a piece of a log. */
export const eventsIn = (text: string): StoredEvent[] => decodeEvents(text.split("\n")).events;

function decodeEvent(line: string): StoredEvent | undefined {
  const found = CRC.exec(line);
  const json = found ? `${line.slice(0, found.index)}}` : line;
  if (found ? crcOf(json) !== found[1] : !WITHOUT_CRC.test(line)) return undefined;
  try {
    const value = decodeJson(json);
    return isEvent(value) ? presentWords(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Version 0.1.0 called a run that was stopped aborted. */
function presentWords(event: StoredEvent): StoredEvent {
  return event.type === "end" && String(event.reason) === "aborted" ? { ...event, reason: "stopped" } : event;
}

function isEvent(value: unknown): value is StoredEvent {
  if (typeof value !== "object" || value === null) return false;
  const event = value as Record<string, unknown>;
  const numbers = Object.hasOwn(NUMBERS, `${event.type}`) ? NUMBERS[event.type as LoggedEvent["type"]] : undefined;
  return ["step", "timeMs", ...(numbers ?? [""])].every((key) => typeof event[key] === "number");
}

/** What holds of the events once training goes on from a step: nothing later, and no end. */
export function eventsUpTo(events: readonly StoredEvent[], step: number): StoredEvent[] {
  return events.filter((event) => event.step <= step && event.type !== "end");
}
