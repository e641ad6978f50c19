/** Parts of every exhibit: its text, its numbers, the button that trains, what comes out, and the runs that the browser keeps. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Choice, Field, Panel, Table } from "../parts/ui.tsx";
import { change, exhibit, numberOf, packed, rules, sample, textChoice } from "./address.ts";
import type { ExportKind } from "./protocol.ts";
import { keepText, keptText, runsOf, text } from "./runs.ts";
import { courses, doing, engine, fault, isTraining, kept, order, train, written } from "./training.ts";

/** A number of the address as a slider. */
export function Slider(props: {
  readonly name: keyof typeof rules;
  readonly label: string;
  readonly to?: number;
  readonly from?: number;
  readonly step?: number;
  readonly shown?: (value: number) => string;
}) {
  const id = useId();
  const { name, step = 1, shown = String } = props;
  const value = numberOf(name);
  const { from, to } = { ...rules[name], ...props };
  return (
    <div class="field">
      <label for={id} class="field-name">
        {props.label} <b class="number">{shown(value)}</b>
      </label>
      <input
        id={id}
        type="range"
        min={from}
        max={to}
        step={step}
        value={value}
        disabled={isTraining.value}
        aria-valuetext={shown(value)}
        onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
      />
    </div>
  );
}

/** A twentieth of it is held out, and has to fill a batch. */
const SHORTEST = 6000;

/** Which text to train on: one of the books, or the reader's own, pasted or from a file. */
export function TextPanel() {
  const [own, setOwn] = useState(keptText());
  const take = (content: string) => {
    setOwn(content);
    keepText(content);
    change({ text: "own", t: packed(content) ?? null });
  };
  const isOwn = textChoice.value === "own";
  return (
    <Panel title="Text">
      <Choice
        label="Train on"
        value={textChoice.value}
        options={[
          ["alice", "Alice in Wonderland"],
          ["holmes", "Sherlock Holmes"],
          ["own", "My own"],
        ]}
        onChange={(value) => change({ text: value, t: value === "own" ? (packed(own) ?? null) : null })}
      />
      {isOwn && (
        <>
          <Field label="Your text, a few pages of it" hint={hintOf(own)}>
            <textarea
              rows={6}
              value={own}
              disabled={isTraining.value}
              onInput={({ currentTarget }) => take(currentTarget.value)}
            />
          </Field>
          <Field label="Or a text file">
            <input
              type="file"
              accept=".txt,.md,text/plain"
              disabled={isTraining.value}
              onChange={({ currentTarget }) => void currentTarget.files?.[0]?.text().then(take)}
            />
          </Field>
        </>
      )}
    </Panel>
  );
}

function hintOf(own: string): string {
  if (own.length < SHORTEST) return `${own.length} characters: at least ${SHORTEST} are needed.`;
  const where =
    packed(own) === undefined ? "It is too long for the address and stays in this browser." : "It is in the address.";
  return `${own.length.toLocaleString("en")} characters. ${where}`;
}

/** Trains, stops and goes on; and what is being done. */
export function TrainButton({ children }: { readonly children?: ComponentChildren }) {
  const wanted = runsOf(exhibit.value);
  const known = wanted.map(({ name }) => kept.value.find((run) => run.name === name));
  const begun = known.some((run) => run && run.status !== "finished");
  const finished = known.every((run) => run?.status === "finished");
  const tooShort = textChoice.value === "own" && (text.value?.content.length ?? 0) < SHORTEST;
  const go = () => text.value && train(wanted, text.value, exhibit.value === "adapt" ? sample.value : undefined);
  const steps = wanted.map(({ name }) => courses.value.get(name)?.losses.length ?? 0);
  return (
    <div class="row wrap train">
      {isTraining.value ? (
        <button type="button" class="primary" onClick={() => order({ type: "stop" })}>
          Stop
        </button>
      ) : (
        <button type="button" class="primary" disabled={!engine.value || !text.value || tooShort} onClick={go}>
          {begun ? "Continue training" : finished ? "Show the result" : "Train"}
        </button>
      )}
      {children}
      <span class="muted" data-testid="doing">
        {doing.value ?? ""}
      </span>
      {isTraining.value && (
        <progress max={numberOf("steps")} value={Math.min(...steps)} aria-label="Progress of training" />
      )}
    </div>
  );
}

/** What the page cannot do, in the library's words. */
export function Faults() {
  return fault.value === undefined ? null : (
    <p class="fault" role="alert">
      {fault.value}
    </p>
  );
}

const KINDS: readonly (readonly [ExportKind, string])[] = [
  ["zip", "Run (zip)"],
  ["safetensors", "Weights (safetensors)"],
  ["onnx", "Model (ONNX)"],
];

/** A trained run to take away, or to write with. */
export function ResultPanel({ name, writes = true }: { readonly name: string; readonly writes?: boolean }) {
  const [prompt, setPrompt] = useState("Alice ");
  const run = kept.value.find((each) => each.name === name);
  if (!run || run.step === 0) return null;
  const { text: said, done } = written.value ?? { text: "", done: true };
  return (
    <Panel title="Take it away">
      <p class="muted">
        The archive is the run folder of the command line:{" "}
        <code>
          unzip {name}.zip && layerwise resume {name}
        </code>
      </p>
      <div class="row wrap">
        {KINDS.map(([as, label]) => (
          <button
            key={as}
            type="button"
            disabled={isTraining.value}
            onClick={() => order({ type: "export", name, as })}
          >
            {label}
          </button>
        ))}
      </div>
      {writes && (
        <form
          class="controls"
          onSubmit={(event) => {
            event.preventDefault();
            order({ type: "write", name, prompt });
          }}
        >
          <Field label="Let it write on from" class="grow">
            <input value={prompt} onInput={({ currentTarget }) => setPrompt(currentTarget.value)} />
          </Field>
          <button type="submit" disabled={isTraining.value || !done || prompt.trim() === ""}>
            Write
          </button>
        </form>
      )}
      {said !== "" && writes && <blockquote class="written">{said}</blockquote>}
    </Panel>
  );
}

/** The runs of this browser: to be downloaded, removed, and brought from elsewhere. */
export function KeptPanel() {
  const upload = async (file: File | undefined) => {
    if (file) order({ type: "upload", bytes: new Uint8Array(await file.arrayBuffer()), file: file.name });
  };
  return (
    <Panel title="Runs in this browser">
      <Field label="Bring a run (zip of a run folder)" hint="From another browser, or from the command line.">
        <input
          type="file"
          accept=".zip"
          disabled={isTraining.value || !engine.value}
          onChange={({ currentTarget }) => void upload(currentTarget.files?.[0])}
        />
      </Field>
      {kept.value.length > 0 && (
        <Table
          label="Table of runs"
          heads={["Run", "State", ["Step", "number"], ["Loss", "number"], ["Actions", "sr-only"]]}
        >
          {kept.value.map(({ name, status, step, totalSteps, loss }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{status}</td>
              <td class="number">{totalSteps === null ? step : `${step} of ${totalSteps}`}</td>
              <td class="number">{loss === null ? "–" : loss.toFixed(3)}</td>
              <td class="actions">
                <button
                  type="button"
                  class="quiet"
                  disabled={isTraining.value}
                  aria-label={`Download ${name}`}
                  onClick={() => order({ type: "export", name, as: "zip" })}
                >
                  Download
                </button>
                <button
                  type="button"
                  class="quiet"
                  disabled={isTraining.value}
                  aria-label={`Remove ${name}`}
                  onClick={() => order({ type: "remove", name })}
                >
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
