/** A new run: a form out of the task's settings, what it would take, the command it amounts to, and start. */
import { useState } from "preact/hooks";
import type { DryRun, Started, StartRequest, TaskList, Use } from "../../src/studio/api.ts";
import { changedFrom, type FormField, fieldsOf, textOf, valueFrom } from "../data/form.ts";
import { jobs } from "../data/live.ts";
import { useAction, useGet } from "../data/loaded.ts";
import { asked, go, href, route, setQuery } from "../data/route.ts";
import { post, saved } from "../data/server.ts";
import { words } from "../parts/format.ts";
import { JobLine } from "../parts/jobs.tsx";
import { Command, Empty, Fault, Field, Heading, Panel, RunPicker, runsThat, Toggle } from "../parts/ui.tsx";

const NAMES: Readonly<Record<string, string>> = {
  language: "Language model",
  translate: "Translation",
  search: "Search for blocks",
  pretrain: "Pre-train an ALBERT",
  finetune: "Fine-tune",
  retrain: "Train a found network",
  compare: "Compare sharing",
};

type Task = TaskList["tasks"][number];

/** Groups that people change first are open. */
const OPEN = new Set(["Data", "Model", "Depth", "Search", "Length", "Training"]);

/** The form of the task in the address. */
export function NewView() {
  const { value, error } = useGet<TaskList>("/api/tasks");
  const name = asked("task", "language");
  if (!value) {
    return (
      <>
        <Heading title="New run" />
        <Fault error={error} />
        {!error && <p class="muted">Reading tasks …</p>}
      </>
    );
  }
  const names = [...new Set([...value.tasks.map(({ task }) => task), "retrain", "compare"])];
  const settingsOf = name === "compare" ? asked("of", "language") : name;
  const task = value.tasks.find((each) => each.task === settingsOf);
  return (
    <>
      <Heading title="New run" lead="starts as a process of its own, which outlives this page" />
      <div class="controls">
        <Field label="Task">
          <select value={name} onChange={({ currentTarget }) => go(href("new", "", { task: currentTarget.value }))}>
            {names.map((each) => (
              <option key={each} value={each}>
                {NAMES[each] ?? each}
              </option>
            ))}
          </select>
        </Field>
        {task && name !== "retrain" && <PresetPicker task={task} />}
        <Field label="Folder">
          <input
            value={asked("name")}
            placeholder="the next free one"
            pattern="[A-Za-z0-9._\-]*"
            onInput={({ currentTarget }) => setQuery({ name: currentTarget.value })}
          />
        </Field>
      </div>
      <Extras list={value} name={name} />
      <div class="new">
        <div>
          {task ? <SettingsForm task={task} /> : <Empty title="This task takes its settings from the run it trains" />}
        </div>
        <Launch list={value} name={name} task={task} />
      </div>
    </>
  );
}

function PresetPicker({ task }: { readonly task: Task }) {
  return (
    <Field label="Preset">
      <select value={asked("preset")} onChange={({ currentTarget }) => setQuery({ preset: currentTarget.value })}>
        <option value="">none</option>
        {Object.keys(task.presets).map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </Field>
  );
}

/** Defaults under the preset. */
const baseOf = (task: Task): Record<string, unknown> => ({ ...task.defaults, ...task.presets[asked("preset")] });

/** Settings in the address: `s.width=128`. */
function givenIn(task: Task): Record<string, unknown> {
  const fields = new Map([...fieldsOf(task.schema).values()].flat().map((field) => [field.key, field]));
  const given = [...route.value.query]
    .filter(([key]) => key.startsWith("s."))
    .map(([key, text]) => [key.slice(2), text] as const);
  return Object.fromEntries(
    given.flatMap(([key, text]) => (fields.has(key) ? [[key, valueFrom(decoded(text), fields.get(key)!)]] : [])),
  );
}

/** The address leaves empty values out, so nothing is written as a word of its own. */
const NOTHING = "∅";
const decoded = (text: string) => (text === NOTHING ? "" : text);

function SettingsForm({ task }: { readonly task: Task }) {
  const base = baseOf(task);
  const given = givenIn(task);
  return (
    <>
      {[...fieldsOf(task.schema)].map(([group, fields]) => (
        <details key={group} class="panel" open={OPEN.has(group)}>
          <summary>
            <h2>{group}</h2>
            <ChangedCount fields={fields} given={changedFrom(base, given)} />
          </summary>
          <div class="settings">
            {fields.map((field) => (
              <Setting
                key={field.key}
                field={field}
                base={base[field.key]}
                value={field.key in given ? given[field.key] : base[field.key]}
              />
            ))}
          </div>
        </details>
      ))}
    </>
  );
}

function ChangedCount({ fields, given }: { readonly fields: readonly FormField[]; readonly given: object }) {
  const count = fields.filter(({ key }) => key in given).length;
  return count === 0 ? null : <span class="badge">{count} changed</span>;
}

interface SettingProps {
  readonly field: FormField;
  readonly base: unknown;
  readonly value: unknown;
}

function Setting({ field, base, value }: SettingProps) {
  const text = textOf(value, field);
  const changed = text !== textOf(base, field);
  const set = (next: string) =>
    setQuery({ [`s.${field.key}`]: next === textOf(base, field) ? undefined : next || NOTHING });
  const placeholder = field.nullable ? `default${field.example ? `, e.g. ${field.example}` : ""}` : field.example;
  return (
    <Field label={words(field.key)} hint={field.description} class={changed ? "changed" : ""}>
      <Control field={field} text={text} placeholder={placeholder} onChange={set} />
    </Field>
  );
}

interface ControlProps {
  readonly field: FormField;
  readonly text: string;
  readonly placeholder: string;
  readonly onChange: (text: string) => void;
}

function Control({ field, text, placeholder, onChange }: ControlProps) {
  const change = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLSelectElement }) =>
    onChange(currentTarget.value);
  if (field.type === "choice" || field.type === "yes-no") {
    const choices = field.type === "choice" ? field.choices : ["true", "false"];
    return (
      <select value={text} onChange={change}>
        {field.nullable && <option value="">default</option>}
        {choices.map((each) => (
          <option key={each} value={each}>
            {field.type === "yes-no" ? (each === "true" ? "yes" : "no") : each}
          </option>
        ))}
      </select>
    );
  }
  if (field.type === "text" || field.type === "json") {
    return <input type="text" value={text} placeholder={placeholder} onChange={change} />;
  }
  return (
    <input
      type="number"
      step={field.type === "integer" ? 1 : "any"}
      min={field.minimum}
      max={field.maximum}
      value={text}
      placeholder={placeholder}
      onChange={change}
    />
  );
}

/** What a task takes besides settings. */
function Extras({ list, name }: { readonly list: TaskList; readonly name: string }) {
  if (name === "search") return <TextOption name="seeds" label="Seeds" hint="3, or 1,5,9; empty: one" />;
  if (name === "finetune") {
    return (
      <div class="controls">
        <Field label="Task of GLUE">
          <select
            value={asked("glue", list.glueTasks[0] ?? "")}
            onChange={({ currentTarget }) => setQuery({ glue: currentTarget.value })}
          >
            {list.glueTasks.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </Field>
        <RunOption name="from" label="From" none="new weights" use="fill" />
      </div>
    );
  }
  if (name === "retrain") return <RetrainOptions list={list} />;
  if (name === "compare") return <CompareOptions list={list} />;
  return null;
}

interface RunOptionProps {
  readonly name: string;
  readonly label: string;
  readonly none: string;
  /** What the run must be able to do. */
  readonly use: Use;
}

function RunOption({ name, label, none, use }: RunOptionProps) {
  const set = (value: string) => setQuery({ [name]: value });
  return <RunPicker label={label} none={none} runs={runsThat(use)} value={asked(name)} onChange={set} />;
}

function TextOption({ name, label, hint }: { readonly name: string; readonly label: string; readonly hint: string }) {
  return (
    <div class="controls">
      <Field label={label} hint={hint}>
        <input value={asked(name)} onInput={({ currentTarget }) => setQuery({ [name]: currentTarget.value })} />
      </Field>
    </div>
  );
}

function RetrainOptions({ list }: { readonly list: TaskList }) {
  return (
    <div class="controls">
      <RunOption name="search" label="Search" none="a pattern instead" use="retrain" />
      {!asked("search") && (
        <Field label="Pattern" hint={Object.keys(list.patterns).join(", ")}>
          <input
            value={asked("pattern")}
            placeholder="sf(s)x2"
            onInput={({ currentTarget }) => setQuery({ pattern: currentTarget.value })}
          />
        </Field>
      )}
    </div>
  );
}

function CompareOptions({ list }: { readonly list: TaskList }) {
  const only = asked("only").split(",").filter(Boolean);
  const change = (each: string, on: boolean) =>
    setQuery({ only: (on ? [...only, each] : only.filter((name) => name !== each)).join(",") });
  return (
    <div class="controls">
      <Field label="Of">
        <select value={asked("of", "language")} onChange={({ currentTarget }) => setQuery({ of: currentTarget.value })}>
          <option value="language">Language model</option>
          <option value="translate">Translation</option>
        </select>
      </Field>
      <Field label="Seeds">
        <input
          type="number"
          min={1}
          value={asked("seeds", "1")}
          onInput={({ currentTarget }) => setQuery({ seeds: currentTarget.value })}
        />
      </Field>
      <fieldset class="choice">
        <legend class="field-name">Models; none chosen: all</legend>
        <div class="row wrap">
          {list.contestants.map((each) => (
            <Toggle key={each} label={each} on={only.includes(each)} onChange={(on) => change(each, on)} />
          ))}
        </div>
      </fieldset>
    </div>
  );
}

/** What the address asks for, as a request. */
function requestOf(list: TaskList, name: string, task: Task | undefined): StartRequest {
  const common = {
    ...(asked("name") ? { name: asked("name") } : {}),
    ...(asked("preset") && name !== "retrain" ? { preset: asked("preset") } : {}),
    ...(task ? { settings: changedFrom(baseOf(task), givenIn(task)) } : {}),
  };
  if (name === "search") return { ...common, task: "search", ...(asked("seeds") ? { seeds: asked("seeds") } : {}) };
  if (name === "finetune") {
    const from = asked("from") ? { from: asked("from") } : {};
    return { ...common, task: "finetune", glueTask: asked("glue", list.glueTasks[0] ?? ""), ...from };
  }
  if (name === "retrain") {
    const what = asked("search") ? { of: asked("search") } : { pattern: asked("pattern") };
    return { ...common, task: "retrain", ...what };
  }
  if (name !== "compare") return { ...common, task: name as "language" | "translate" | "pretrain" };
  const only = asked("only").split(",").filter(Boolean);
  const of = asked("of", "language") as "language" | "translate";
  return { ...common, task: "compare", of, seeds: Number(asked("seeds", "1")), ...(only.length > 0 ? { only } : {}) };
}

interface LaunchProps {
  readonly list: TaskList;
  readonly name: string;
  readonly task: Task | undefined;
}

function Launch({ list, name, task }: LaunchProps) {
  const estimate = useAction();
  const start = useAction();
  const [dry, setDry] = useState<{ request: string; answer: DryRun }>();
  const [jobId, setJobId] = useState<string>();
  const request = requestOf(list, name, task);
  const job = jobs.value.find(({ id }) => id === jobId);
  const stale = dry !== undefined && dry.request !== JSON.stringify(request);
  const measure = async () =>
    setDry({ request: JSON.stringify(request), answer: await post<DryRun>("/api/dry-run", request) });
  const begin = async () => {
    const { job: started } = await post<Started>("/api/start", request);
    jobs.value = [...jobs.peek().filter(({ id }) => id !== started.id), started];
    setJobId(started.id);
  };
  return (
    <Panel title="What it takes" class="launch">
      <div class="row wrap">
        <button type="button" disabled={estimate.busy || saved !== undefined} onClick={() => estimate.run(measure)}>
          {estimate.busy ? "Measuring a few steps …" : "Estimate"}
        </button>
        <button
          type="button"
          class="primary"
          disabled={start.busy || saved !== undefined}
          onClick={() => start.run(begin)}
        >
          Start
        </button>
      </div>
      <Fault error={estimate.error} />
      <Fault error={start.error} />
      {job && (
        <div class="told" role="status">
          <JobLine job={job} />
        </div>
      )}
      {dry ? (
        <div class={stale ? "stale" : ""}>
          {stale && <p class="muted">The settings have changed since this estimate.</p>}
          <dl class="pairs">
            {dry.answer.facts.map(({ what, value }) => (
              <div key={what}>
                <dt>{what}</dt>
                <dd class="number">{value}</dd>
              </div>
            ))}
          </dl>
          <h3>The same from a terminal</h3>
          <Command text={dry.answer.command} />
        </div>
      ) : (
        <p class="muted">An estimate runs a few steps and measures time and memory; nothing is written.</p>
      )}
    </Panel>
  );
}
