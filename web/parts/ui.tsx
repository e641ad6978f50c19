/** Small parts that all views are made of. */
import { type ComponentChildren, Fragment } from "preact";
import { useId, useState } from "preact/hooks";
import type { RunId, RunRow, Status, Use } from "../../src/studio/api.ts";
import { about, newest, rows } from "../data/live.ts";
import type { ServerError } from "../data/server.ts";

/** A view's title, what it is about, and what can be done with it. */
export function Heading(props: { title: ComponentChildren; lead?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <header class="heading">
      <div>
        <h1>{props.title}</h1>
        {props.lead && <p class="lead">{props.lead}</p>}
      </div>
      {props.children && <div class="actions">{props.children}</div>}
    </header>
  );
}

/** A part of a view with a title of its own. */
export function Panel(props: {
  title: string;
  children: ComponentChildren;
  aside?: ComponentChildren;
  class?: string;
}) {
  const id = useId();
  return (
    <section class={`panel ${props.class ?? ""}`} aria-labelledby={id}>
      <div class="row between panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** What may be wider than the page: it scrolls by itself, also by keyboard. */
export function Scroll(props: { label: string; children: ComponentChildren; class?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class={`scroll ${props.class ?? ""}`} tabIndex={0} aria-label={props.label}>
      {props.children}
    </section>
  );
}

/** The name of a column, and whether it has numbers or a name that only screen readers say. */
export type TableHead = string | readonly [name: string, kind: "number" | "sr-only"];

/** A table with a line of names over its rows; it scrolls by itself. */
export function Table(props: {
  label: string;
  heads: readonly TableHead[];
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <Scroll label={props.label}>
      <table class={props.class}>
        <thead>
          <tr>
            {props.heads.map((head) => {
              const [name, kind] = typeof head === "string" ? [head] : head;
              return (
                <th scope="col" key={name} class={kind === "number" ? kind : undefined}>
                  {kind === "sr-only" ? <span class={kind}>{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </Scroll>
  );
}

/** A mistake as a sentence, with a way out. */
export function Fault({ error }: { readonly error: ServerError | undefined }) {
  if (!error) return null;
  return (
    <p class="fault" role="alert">
      {error.message}
      {error.remedy && <span> {error.remedy}</span>}
    </p>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly commands?: readonly string[];
  readonly children?: ComponentChildren;
}

/** Nothing to show, and what to run so that there is. */
export function Empty({ title, commands, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
      {commands?.map((command) => (
        <Command key={command} text={command} />
      ))}
    </div>
  );
}

/** A view with nothing to show: its own heading, then why. */
export function EmptyView({ view, lead, ...empty }: EmptyProps & { readonly view: string; readonly lead?: string }) {
  return (
    <>
      <Heading title={view} lead={lead} />
      <Empty {...empty} />
    </>
  );
}

/** A command to type, with a button that copies it. The first word is how layerwise is called here. */
export function Command({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState(false);
  const shown = text.replace(/^layerwise /, `${about.value?.command ?? "layerwise"} `);
  const copy = () =>
    void navigator.clipboard?.writeText(shown).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <div class="command">
      <code>
        {shown.split(" ").map((word, i) => (
          // Words are not broken at their dashes.
          <Fragment key={i}>
            {i > 0 && " "}
            <span>{word}</span>
          </Fragment>
        ))}
      </code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy the command ${shown}`}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** A run's state in a word, with a shape of its own beside the colour. */
export function StatusBadge({ status }: { readonly status: Status }) {
  return <span class={`badge status-${status}`}>{status}</span>;
}

interface FactsProps {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
  readonly class?: string;
}

/** Facts side by side: a small name over a figure. */
export function Facts({ facts, class: kind = "facts" }: FactsProps) {
  return (
    <dl class={kind}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="number">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A control with its name over it. */
export function Field(props: {
  label: string;
  hint?: string | undefined;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <div class={`field ${props.class ?? ""}`}>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is its child */}
      <label>
        <span class="field-name">{props.label}</span>
        {props.children}
      </label>
      {props.hint && <span class="hint">{props.hint}</span>}
    </div>
  );
}

/** A text of several lines to write. */
export function TextField(props: { label: string; value: string; rows?: number; onText: (text: string) => void }) {
  const { label, value, rows = 2 } = props;
  return (
    <Field label={label}>
      <textarea rows={rows} value={value} onInput={({ currentTarget }) => props.onText(currentTarget.value)} />
    </Field>
  );
}

/** One of a few, all in sight. */
export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class="field-name">{props.label}</legend>
      <div class="choices">
        {props.options.map(([value, text]) => (
          <label key={value}>
            <input type="radio" name={name} checked={value === props.value} onChange={() => props.onChange(value)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Yes or no. */
export function Toggle(props: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label class="toggle">
      <input type="checkbox" checked={props.on} onChange={() => props.onChange(!props.on)} />
      <span>{props.label}</span>
    </label>
  );
}

/** Runs that can do something, newest first. */
export const runsThat = (...uses: readonly Use[]): RunRow[] =>
  newest.value.filter((row) => uses.some((use) => row.uses.includes(use)));

/** A run out of those that fit. */
export function RunPicker(props: {
  label: string;
  runs: readonly RunRow[];
  value: RunId;
  none?: string;
  onChange: (id: RunId) => void;
}) {
  const missing = props.value !== "" && !props.runs.some(({ id }) => id === props.value);
  return (
    <Field label={props.label}>
      <select value={props.value} onChange={({ currentTarget }) => props.onChange(currentTarget.value)}>
        {props.none !== undefined && <option value="">{props.none}</option>}
        {missing && <option value={props.value}>{rows.value.get(props.value)?.path ?? props.value}</option>}
        {props.runs.map(({ id, path, kind }) => (
          <option key={id} value={id}>
            {path} ({kind})
          </option>
        ))}
      </select>
    </Field>
  );
}
