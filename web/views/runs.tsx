/** All runs in a table: sort, filter and group by any setting, notes, and a selection to compare. */
import { Fragment, type VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Note, RunRow } from "../../src/studio/api.ts";
import { about, connection, jobs, rows, truncated } from "../data/live.ts";
import { useAction } from "../data/loaded.ts";
import { asked, go, href, route, setQuery } from "../data/route.ts";
import { put, saved } from "../data/server.ts";
import { cellOf, grouped, matches, sorted, telling } from "../data/table.ts";
import { age, bestText, depthText, plain, short, whole, words } from "../parts/format.ts";
import { Jobs } from "../parts/jobs.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Empty, Fault, Field, Heading, Scroll, StatusBadge } from "../parts/ui.tsx";

interface Column {
  readonly key: string;
  readonly title: string;
  readonly number?: boolean;
  readonly show: (row: RunRow) => preact.ComponentChildren;
}

const NUMBERS: readonly Column[] = [
  { key: "step", title: "Step", number: true, show: progressOf },
  { key: "depth", title: "Blocks → depth", number: true, show: depthText },
  { key: "parameters", title: "Parameters", number: true, show: (row) => short(row.parameters) },
  { key: "flops", title: "FLOPs/token", number: true, show: (row) => short(row.flopsPerToken) },
  { key: "best", title: "Best", number: true, show: bestOf },
  { key: "speed", title: "Tokens/s", number: true, show: (row) => short(row.tokensPerSecond) },
];

/** The table of runs. */
export function RunsView() {
  const all = [...rows.value.values()];
  const [filter, sort, group] = [asked("filter"), asked("sort", "changed"), asked("group")];
  const descending = asked("order", sort === "changed" ? "down" : "up") === "down";
  const chosen = asked("select")
    .split(",")
    .filter((id) => rows.value.has(id));
  const settings = useMemo(() => telling(all), [all.map(({ id }) => id).join()]);
  const shown = sorted(
    all.filter((row) => matches(row, filter)),
    sort,
    descending,
  );
  const extra = [...new Set([sort, group])].filter((key) => settings.includes(key));
  if (all.length === 0) return <NoRuns />;
  return (
    <>
      <Heading title="Runs" lead={leadOf(all)}>
        <a class="button primary" href={href("new")}>
          New run
        </a>
      </Heading>
      <Jobs jobs={jobs.value} />
      <search class="controls">
        <Field label="Filter" class="grow">
          <input
            type="search"
            placeholder="name, note, width=128, best<60"
            value={filter}
            onInput={({ currentTarget }) => setQuery({ filter: currentTarget.value })}
          />
        </Field>
        <KeyPicker label="Sort by" name="sort" value={sort} settings={settings} />
        <KeyPicker label="Group by" name="group" value={group} settings={settings} none="nothing" />
      </search>
      <p class="muted number" role="status">
        {shown.length === all.length
          ? `${whole(all.length)} runs`
          : `${whole(shown.length)} of ${whole(all.length)} runs`}
        {truncated.value && "; the folder is larger than what was looked at"}
      </p>
      {chosen.length > 0 && <Selection chosen={chosen} />}
      {[...(group ? grouped(shown, group) : new Map([["", shown]]))].map(([name, members]) => (
        <div key={name}>
          {group && (
            <h2 class="group">
              {group} <b>{name}</b> <span class="muted">{members.length}</span>
            </h2>
          )}
          <Table
            label={group ? `Runs with ${group} ${name}` : "Table of runs"}
            rows={members}
            chosen={chosen}
            sort={sort}
            descending={descending}
            extra={extra}
          />
        </div>
      ))}
    </>
  );
}

function NoRuns() {
  if (connection.value === "waiting") return <p class="muted">Reading runs …</p>;
  const folder = about.value?.folder ?? "runs";
  return (
    <>
      <Heading title="Runs" />
      <Jobs jobs={jobs.value} />
      <Empty
        title={`No runs below ${folder} yet`}
        commands={[
          `layerwise train --preset tiny --out ${folder}/first`,
          `layerwise search --preset quick --out ${folder}/search`,
        ]}
      >
        <p>
          A run appears here as soon as it starts, whoever starts it. <a href={href("new")}>Start one from a form</a>,
          or type:
        </p>
      </Empty>
    </>
  );
}

function leadOf(all: readonly RunRow[]): string {
  const running = all.filter(({ status }) => status === "running").length;
  return `everything below ${about.value?.folder ?? "runs"}${running > 0 ? `, ${running} running` : ""}`;
}

function progressOf({ step, totalSteps }: RunRow) {
  return totalSteps === null ? whole(step) : `${whole(step)} / ${whole(totalSteps)}`;
}

function bestOf({ best }: RunRow) {
  if (!best) return "–";
  return (
    <>
      {bestText(best)} <span class="under">{words(best.name)}</span>
    </>
  );
}

function KeyPicker(props: { label: string; name: string; value: string; settings: readonly string[]; none?: string }) {
  const columns = [
    "changed",
    "name",
    "kind",
    "status",
    ...NUMBERS.map(({ key }) => key),
    "time",
    "unique",
    "loss",
    "note",
  ];
  return (
    <Field label={props.label}>
      <select
        value={props.value}
        onChange={({ currentTarget }) => setQuery({ [props.name]: currentTarget.value, order: undefined })}
      >
        {props.none && <option value="">{props.none}</option>}
        <optgroup label="Columns">
          {columns.map((key) => (
            <option key={key}>{key}</option>
          ))}
        </optgroup>
        {props.settings.length > 0 && (
          <optgroup label="Settings that differ">
            {props.settings.map((key) => (
              <option key={key}>{key}</option>
            ))}
          </optgroup>
        )}
      </select>
    </Field>
  );
}

function Selection({ chosen }: { readonly chosen: readonly string[] }) {
  return (
    <div class="selection">
      <span class="number">{chosen.length} selected</span>
      <button
        type="button"
        class="primary"
        disabled={chosen.length < 2}
        onClick={() => go(href("compare", "", { ids: chosen.join(",") }))}
      >
        Compare
      </button>
      <button type="button" class="quiet" onClick={() => setQuery({ select: undefined })}>
        Clear
      </button>
    </div>
  );
}

interface TableProps {
  readonly label: string;
  readonly rows: readonly RunRow[];
  readonly chosen: readonly string[];
  readonly sort: string;
  readonly descending: boolean;
  readonly extra: readonly string[];
}

function Table({ label, rows, chosen, sort, descending, extra }: TableProps) {
  const heads: Column[] = [
    ...NUMBERS,
    ...extra.map((key): Column => ({ key, title: key, show: (row) => plain(cellOf(row, key)) })),
  ];
  const order = { sort, descending };
  return (
    <Scroll label={label} class="card">
      <table class="runs">
        <thead>
          <tr>
            <td class="select" />
            <Head name="name" title="Run" {...order} />
            <Head name="status" title="Status" {...order} />
            <Head name="loss" title="Loss" {...order} />
            {heads.map(({ key, title, number }) => (
              <Head key={key} name={key} title={title} number={number === true} {...order} />
            ))}
            <Head name="changed" title="Changed" {...order} />
            <Head name="note" title="Note" {...order} />
          </tr>
        </thead>
        <tbody>{rows.map((row) => drawn(row, heads, chosen.includes(row.id)))}</tbody>
      </table>
    </Scroll>
  );
}

function Head(props: { name: string; title: string; sort: string; descending: boolean; number?: boolean }) {
  const current = props.sort === props.name;
  const order = current && !props.descending ? "down" : "up";
  return (
    <th
      scope="col"
      class={props.number ? "number" : ""}
      aria-sort={current ? (props.descending ? "descending" : "ascending") : undefined}
    >
      <button type="button" class="head" onClick={() => setQuery({ sort: props.name, order })}>
        {props.title}
        <span aria-hidden="true">{current ? (props.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

const rowsDrawn = new WeakMap<RunRow, { key: string; row: VNode }>();

/** A row is drawn again only when it changed: one of 500 may change four times a second. */
function drawn(row: RunRow, heads: readonly Column[], on: boolean): VNode {
  const key = `${on} ${heads.map((head) => head.key).join()} ${age(Date.now() - row.changedMs)}`;
  const known = rowsDrawn.get(row);
  if (known?.key === key) return known.row;
  const made = <Row key={row.id} row={row} heads={heads} on={on} />;
  rowsDrawn.set(row, { key, row: made });
  return made;
}

function toggle(id: string): void {
  const chosen = (route.peek().query.get("select") ?? "").split(",").filter(Boolean);
  setQuery({ select: (chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]).join(",") });
}

function Row({ row, heads, on }: { readonly row: RunRow; readonly heads: readonly Column[]; readonly on: boolean }) {
  const readable = row.status !== "foreign" && row.status !== "damaged";
  return (
    <tr class={on ? "chosen" : ""}>
      <td class="select">
        {readable && (
          <label class="tick">
            <input type="checkbox" checked={on} onChange={() => toggle(row.id)} aria-label={`Select ${row.path}`} />
          </label>
        )}
      </td>
      <th scope="row">
        <a href={href("run", row.id)}>
          <Path path={row.path} />
        </a>
        <span class="under">{row.fault ?? row.kind}</span>
      </th>
      <td>
        <StatusBadge status={row.status} />
      </td>
      <td>
        <Sparkline values={row.sparkline} />
      </td>
      {heads.map(({ key, number, show }) => (
        <td key={key} class={number ? "number" : ""}>
          {show(row)}
        </td>
      ))}
      <td class="number">{age(Date.now() - row.changedMs)}</td>
      <td>
        <NoteCell row={row} />
      </td>
    </tr>
  );
}

/** Broken after folders only. */
function Path({ path }: { readonly path: string }) {
  const parts = path.split(/(?<=\/)/);
  return (
    <>
      {parts.map((part, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          <span class="path-part">{part}</span>
        </Fragment>
      ))}
    </>
  );
}

/** A note that becomes a field when it is clicked. */
export function NoteCell({ row }: { readonly row: RunRow }) {
  const [editing, setEditing] = useState(false);
  const { run, error } = useAction();
  const keep = (note: string) => {
    setEditing(false);
    if (note === row.note) return;
    run(async () => {
      const kept = await put<Note>(`/api/runs/${encodeURIComponent(row.id)}/note`, { note });
      rows.value = new Map(rows.peek()).set(row.id, { ...row, note: kept.note });
    });
  };
  if (!editing) {
    return (
      <>
        <button
          type="button"
          class="note"
          disabled={saved !== undefined}
          onClick={() => setEditing(true)}
          aria-label={`${row.note || "Add note"}, note on ${row.path}`}
        >
          {row.note || "Add note"}
        </button>
        <Fault error={error} />
      </>
    );
  }
  return (
    <input
      class="note-field"
      aria-label={`Note on ${row.path}`}
      defaultValue={row.note}
      maxLength={10_000}
      ref={(element) => element?.focus()}
      onBlur={({ currentTarget }) => keep(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") currentTarget.blur();
        if (key === "Escape") setEditing(false);
      }}
    />
  );
}
