import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeEvents,
  decodeJson,
  encodeEvent,
  encodeEvents,
  encodeJson,
  eventsUpTo,
  type StoredEvent,
} from "./event-log.ts";

const events: fc.Arbitrary<StoredEvent[]> = fc.array(
  fc.record({
    type: fc.constant("step" as const),
    step: fc.nat(50),
    loss: fc.double().filter((value) => !Object.is(value, -0)), // JSON writes -0 as 0
    learningRate: fc.double({ min: 1e-9, max: 1 }),
    gradientNorm: fc.constantFrom(1, NaN, Infinity, -Infinity),
    tokensPerSecond: fc.nat(),
    epoch: fc.nat(),
    scalars: fc.dictionary(fc.string(), fc.float({ min: 1 }), { noNullPrototype: true }),
    timeMs: fc.nat(),
  }),
);

const linesOf = (text: string) => text.split("\n");

describe("the lines of events.jsonl", () => {
  it("give back every event", () => {
    fc.assert(
      fc.property(events, (list) => {
        expect(decodeEvents(linesOf([...encodeEvents(list)].join("")))).toEqual({ events: list, damaged: 0 });
      }),
    );
  });

  it("cut anywhere give back the events before the cut", () => {
    fc.assert(
      fc.property(events, fc.nat(), (list, at) => {
        const bytes = Buffer.from(list.map(encodeEvent).join(""));
        const cut = bytes.subarray(0, at % (bytes.length + 1)).toString("utf8");
        const whole = cut.split("\n").length - 1;
        const { events: found } = decodeEvents(linesOf(cut));
        expect(found).toEqual(list.slice(0, found.length)); // a line may lack only its end
        expect([whole, whole + 1]).toContain(found.length);
      }),
    );
  });

  it("that are no events are passed over and counted", () => {
    const line = encodeEvent({ type: "end", step: 1, reason: "finished", elapsedMs: 1, timeMs: 2 });
    expect(decodeEvents(linesOf(`\n{}\n[1]\nnull\n\0\0\n${line}`))).toMatchObject({
      damaged: 4,
      events: { length: 1 },
    });
  });

  it("with any one bit turned are counted as damaged, or say the same", () => {
    const event: StoredEvent = { type: "end", step: 12, reason: "finished", elapsedMs: 1.5, timeMs: 2 };
    const bytes = Buffer.from(encodeEvent(event));
    for (let place = 0; place < 8 * (bytes.length - 1); place++) {
      const other = Buffer.from(bytes);
      other[place >> 3]! ^= 1 << (place & 7);
      const { events, damaged } = decodeEvents(linesOf(other.toString("utf8")));
      if (damaged === 0) expect(events).toEqual([event]);
    }
  });

  it("up to a step hold nothing later and no end", () => {
    const figures = { loss: 1, perplexity: 2, perplexityPerWord: 3, bitsPerByte: 4, tokens: 5, best: true };
    const at = (step: number): StoredEvent => ({ type: "evaluation", split: "valid", step, timeMs: 0, ...figures });
    const end: StoredEvent = { type: "end", step: 2, reason: "stopped", elapsedMs: 1, timeMs: 2 };
    expect(eventsUpTo([at(1), at(2), end, at(3)], 2)).toEqual([at(1), at(2)]);
  });
});

describe("JSON with all numbers", () => {
  it("keeps NaN and the infinities, and stays JSON", () => {
    const text = encodeJson({ a: [NaN, 1, -Infinity], b: { c: Infinity } });
    expect(text).toBe('{"a":["NaN",1,"-Infinity"],"b":{"c":"Infinity"}}');
    expect(decodeJson(text)).toEqual({ a: [NaN, 1, -Infinity], b: { c: Infinity } });
  });
});
