/** A plan to be edited: drag a layer onto another and it runs the same block; arrows, + and Delete do the same by keyboard. */
import { useRef, useState } from "preact/hooks";
import { announce } from "../parts/announce.ts";
import { SERIES } from "../parts/palette.ts";
import { change, inOrder } from "./address.ts";

const [LEAST, MOST] = [2, 12];

const depths = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Plans to begin with, by name. */
const PRESETS: Readonly<Record<string, (count: number) => number[]>> = {
  "No sharing": (count) => depths(count),
  "One block": (count) => depths(count).map(() => 0),
  "Two in turn": (count) => depths(count).map((i) => i % 2),
  "There and back": (count) => depths(count).map((i) => Math.min(i, count - 1 - i)),
};

interface Props {
  readonly plan: readonly number[];
  readonly disabled: boolean;
}

/** The blocks in the order in which they run, first to last. */
export function PlanEditor({ plan, disabled }: Props) {
  const [dragged, setDragged] = useState<number>();
  const held = useRef<number | undefined>(undefined); // what a pointer holds now, whatever is drawn yet
  const [over, setOver] = useState<number>();
  const list = useRef<HTMLOListElement>(null);
  const set = (next: readonly number[], sentence: string) => {
    change({ plan: inOrder(next).join(",") });
    announce(sentence);
  };
  const share = (depth: number, block: number) =>
    set(plan.with(depth, block), `depth ${depth + 1} now runs block ${block + 1}`);
  const own = (depth: number) => share(depth, Math.max(...plan) + 1);
  const focus = (depth: number) =>
    list.current?.querySelectorAll<HTMLButtonElement>("button")[Math.max(0, Math.min(plan.length - 1, depth))]?.focus();

  const remove = (depth: number) => {
    if (plan.length <= LEAST) return;
    set(plan.toSpliced(depth, 1), `depth ${depth + 1} removed: ${plan.length - 1} layers run`);
    focus(depth - 1);
  };
  const add = () => set([...plan, Math.max(...plan) + 1], `${plan.length + 1} layers run`);
  const turn = (depth: number, by: number) => {
    const blocks = new Set(plan).size + 1; // one more than there are: weights of its own
    share(depth, (plan[depth]! + by + blocks) % blocks);
  };
  const press = (event: KeyboardEvent, depth: number) => {
    const acts: Record<string, () => void> = {
      ArrowLeft: () => focus(depth - 1),
      ArrowRight: () => focus(depth + 1),
      ArrowUp: () => turn(depth, 1),
      ArrowDown: () => turn(depth, -1),
      "+": add,
      Delete: () => remove(depth),
      Backspace: () => remove(depth),
    };
    const act = acts[event.key];
    if (!act || (disabled && !event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    act();
  };

  const slotAt = ({ clientX, clientY }: PointerEvent): number | undefined => {
    const found = document.elementFromPoint(clientX, clientY)?.closest("[data-depth]");
    return found && list.current?.contains(found) ? Number(found.getAttribute("data-depth")) : undefined;
  };
  const drop = (event: PointerEvent) => {
    const target = slotAt(event);
    const from = held.current;
    if (from !== undefined && target !== undefined && target !== from) share(target, plan[from]!);
    held.current = undefined;
    setDragged(undefined);
    setOver(undefined);
  };

  return (
    <div class="plan-editor">
      <ol ref={list} aria-label="Layers in the order in which they run">
        {plan.map((block, depth) => (
          <li key={depth}>
            <button
              type="button"
              disabled={disabled}
              data-depth={depth}
              class={`slot box fill-${block % SERIES} ${dragged === depth ? "dragged" : ""} ${over === depth && dragged !== depth ? "over" : ""}`}
              aria-describedby="plan-keys"
              onKeyDown={(event) => press(event, depth)}
              onPointerDown={(event) => {
                event.currentTarget.setPointerCapture(event.pointerId);
                held.current = depth;
                setDragged(depth);
              }}
              onPointerMove={(event) => held.current !== undefined && setOver(slotAt(event))}
              onPointerUp={drop}
              onPointerCancel={() => setDragged(undefined)}
              onDblClick={() => own(depth)}
            >
              <span class="sr-only">{`Depth ${depth + 1} runs block `}</span>
              <b>{block + 1}</b>
              <span aria-hidden="true">{depth + 1}</span>
            </button>
          </li>
        ))}
      </ol>
      <p id="plan-keys" class="hint">
        Drag a layer onto another: that one then runs the same weights. Double-click gives it its own. Keys: ← → choose
        a layer, ↑ ↓ its block, + adds a layer, Delete removes one.
      </p>
      <div class="row wrap">
        {Object.entries(PRESETS).map(([name, make]) => (
          <button
            key={name}
            type="button"
            class="quiet"
            disabled={disabled}
            onClick={() => set(make(plan.length), name)}
          >
            {name}
          </button>
        ))}
        <button type="button" class="quiet" disabled={disabled || plan.length >= MOST} onClick={add}>
          Add a layer
        </button>
        <button
          type="button"
          class="quiet"
          disabled={disabled || plan.length <= LEAST}
          onClick={() => remove(plan.length - 1)}
        >
          Remove a layer
        </button>
      </div>
    </div>
  );
}
