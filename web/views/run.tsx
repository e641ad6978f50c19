/** One run: live curves, depth drawn, model report, log, checkpoints; stop it, go on with it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunDetail, RunRow, Started, Stopping } from "../../src/studio/api.ts";
import { connection, jobs, rows } from "../data/live.ts";
import { useAction, useGet } from "../data/loaded.ts";
import { href, route } from "../data/route.ts";
import { useSeries } from "../data/series.ts";
import { post, saved } from "../data/server.ts";
import { announce } from "../parts/announce.ts";
import { PatternPicture, PlanPicture } from "../parts/blocks.tsx";
import { AxisControls, axesAsked, Curves } from "../parts/curves-view.tsx";
import { bestText, bytes, duration, figure, plain, short, whole, words } from "../parts/format.ts";
import { JobLine } from "../parts/jobs.tsx";
import { Command, Empty, EmptyView, Facts, Fault, Heading, Panel, Scroll, StatusBadge } from "../parts/ui.tsx";
import { NoteCell } from "./runs.tsx";

/** The run of the address, or the one that is given. */
export function RunView({ id = route.value.id }: { readonly id?: string }) {
  const row = rows.value.get(id);
  if (!row) {
    if (connection.value === "waiting") return <p class="muted">Reading runs …</p>;
    const why = "The folder has no run of this address; it may have been moved";
    return <EmptyView view="No such run" title={why} commands={["layerwise runs"]} />;
  }
  if (row.status === "damaged" || row.status === "foreign") return <Unreadable row={row} />;
  return <Readable key={id} row={row} />;
}

function Unreadable({ row }: { readonly row: RunRow }) {
  const what = row.status === "foreign" ? "This folder is no run of layerwise." : "This run cannot be read.";
  return (
    <>
      <Heading title={row.path}>
        <StatusBadge status={row.status} />
      </Heading>
      <Empty title={what}>
        <p>{row.fault}</p>
      </Empty>
    </>
  );
}

function Readable({ row }: { readonly row: RunRow }) {
  const { x, range } = axesAsked();
  // Checkpoints and reports change with evaluations and with the status, not with every step.
  const version = `${row.status} ${row.best?.step} ${row.flopsPerToken}`;
  const { value: detail, error, reload } = useGet<RunDetail>(`/api/runs/${encodeURIComponent(row.id)}`, version);
  const [added, setAdded] = useState("");
  const {
    series,
    axes,
    error: missing,
  } = useSeries({
    ids: [row.id],
    x,
    range,
    log: true,
    onUpdate: ({ log }) => {
      const more = log?.[row.id];
      if (more) setAdded((text) => `${text}${more}`.slice(-20_000));
    },
  });
  useEffect(() => setAdded(""), [detail]);
  useEffect(() => {
    if (row.status === "running") announce(`${row.path}: step ${whole(row.step)}, loss ${figure(row.lastLoss)}`);
  }, [row.step]);
  return (
    <>
      <Heading title={row.path} lead={row.kind ?? ""}>
        <StatusBadge status={row.status} />
        <Actions row={row} onDone={reload} />
      </Heading>
      <NoteCell row={row} />
      <Progress row={row} />
      <Facts facts={factsOf(row)} />
      {detail && <Depth detail={detail} />}
      <Fault error={error ?? missing} />
      <AxisControls axes={axes} />
      {Object.keys(series.get(row.id) ?? {}).length === 0 ? (
        <Waiting row={row} />
      ) : (
        <Curves runs={[row]} series={series} />
      )}
      {detail && <Report detail={detail} row={row} added={added} />}
    </>
  );
}

function Waiting({ row }: { readonly row: RunRow }) {
  return <Empty title={row.status === "running" ? "The first step is under way" : "This run has no events yet"} />;
}

function Progress({ row: { step, totalSteps, status } }: { readonly row: RunRow }) {
  if (totalSteps === null || status === "finished") return null;
  return (
    <progress class={status} max={totalSteps} value={step} aria-label={`step ${whole(step)} of ${whole(totalSteps)}`} />
  );
}

function factsOf(row: RunRow): [string, string][] {
  const { best, totalSteps } = row;
  const left =
    row.elapsedMs !== null && totalSteps && row.step > 0 ? (row.elapsedMs / row.step) * (totalSteps - row.step) : null;
  return [
    ["step", totalSteps === null ? whole(row.step) : `${whole(row.step)} of ${whole(totalSteps)}`],
    [best ? `best ${words(best.name)}` : "best", best ? `${bestText(best)} at ${whole(best.step)}` : "–"],
    ["loss", figure(row.lastLoss)],
    ["tokens per second", row.tokensPerSecond === null ? "–" : whole(row.tokensPerSecond)],
    ["time", duration(row.elapsedMs)],
    ...(row.status === "running" ? ([["left, about", duration(left)]] as [string, string][]) : []),
    ["parameters", short(row.parameters)],
    ["executed depth", plain(row.executedDepth)],
    ["blocks with own weights", plain(row.uniqueBlocks)],
    ["FLOPs per token", short(row.flopsPerToken)],
  ];
}

function Actions({ row, onDone }: { readonly row: RunRow; readonly onDone: () => void }) {
  const { busy, error, run } = useAction();
  const [told, setTold] = useState("");
  const path = `/api/runs/${encodeURIComponent(row.id)}`;
  const job = jobs.value.find((each) => each.run === row.id && (each.state === "opening" || each.state === "failed"));
  useEffect(() => setTold(""), [row.status]);
  const stop = async () => {
    const { pid } = await post<Stopping>(`${path}/stop`);
    setTold(`Process ${pid} stops after its step, with a checkpoint.`);
  };
  const resume = async () => {
    const { job: started } = await post<Started>(`${path}/resume`);
    setTold(`Process ${started.pid} goes on with it.`);
    onDone();
  };
  const has = (use: RunRow["uses"][number]) => row.uses.includes(use);
  return (
    <>
      {!saved && has("stop") && (
        <button type="button" disabled={busy} onClick={() => run(stop)}>
          Stop
        </button>
      )}
      {!saved && has("resume") && (
        <button type="button" class="primary" disabled={busy} onClick={() => run(resume)}>
          Resume
        </button>
      )}
      {has("search") && <LinkTo view="search" row={row} text="Search" />}
      {has("depth") && <LinkTo view="depth" row={row} text="Depth" />}
      {(has("generate") || has("translate") || has("fill") || has("classify")) && (
        <LinkTo view="play" row={row} text="Play" />
      )}
      {told && <p class="told">{told}</p>}
      {job && <JobLine job={job} />}
      <Fault error={error} />
    </>
  );
}

const LinkTo = ({ view, row, text }: { readonly view: string; readonly row: RunRow; readonly text: string }) => (
  <a class="button" href={href(view, row.id)}>
    {text}
  </a>
);

/** The newest lines are in sight, unless the reader has scrolled away from them. */
function Log({ text }: { readonly text: string }) {
  const lines = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const box = lines.current?.parentElement;
    if (!box) return;
    const look = () => {
      follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    };
    box.addEventListener("scroll", look);
    return () => box.removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    const box = lines.current?.parentElement;
    if (box && follows.current) box.scrollTop = box.scrollHeight;
  }, [text]);
  return (
    <Scroll label="Lines of the log" class="log">
      <pre ref={lines}>{text || "Nothing yet."}</pre>
    </Scroll>
  );
}

/** What a network is, before its curves: which block runs at each depth. */
function Depth({ detail: { plan, blocks, pattern } }: { readonly detail: RunDetail }) {
  if (!plan && !blocks) return null;
  return (
    <Panel title="Which block runs at each depth">
      {plan && (
        <>
          <PlanPicture plan={plan} />
          <p class="muted">{planSentence(plan)}</p>
        </>
      )}
      {blocks && (
        <>
          <PatternPicture blocks={blocks} />
          {pattern && (
            <p class="muted">
              <code>{pattern}</code>
            </p>
          )}
        </>
      )}
    </Panel>
  );
}

function Report({ detail, row, added }: { readonly detail: RunDetail; readonly row: RunRow; readonly added: string }) {
  return (
    <div class="panels">
      <Panel title="Model">
        <Facts
          class="pairs"
          facts={[
            ["distinct parameters", detail.parameters === null ? "–" : whole(detail.parameters)],
            ["blocks that own weights", plain(detail.uniqueBlocks)],
            ["blocks that run", plain(detail.executedDepth)],
            ["FLOPs per token, forward", short(detail.flopsPerToken)],
            ["FLOPs per token, training", short(detail.trainingFlopsPerToken)],
            ["size on disk", bytes(detail.bytes)],
          ]}
        />
      </Panel>
      <Panel title="Checkpoints">
        {detail.checkpoints.length === 0 ? (
          <p class="muted">None yet.</p>
        ) : (
          <ul class="checkpoints number">
            {detail.checkpoints.map(({ step, best }) => (
              <li key={`${step} ${best}`}>
                step {whole(step)}
                {best && <span class="badge status-finished">best</span>}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {detail.next.length > 0 && (
        <Panel title="What to run next" class="wide">
          {detail.next.map((command) => (
            <Command key={command} text={command} />
          ))}
        </Panel>
      )}
      <Panel title="Log" class="wide">
        <Log text={(detail.log + added).trimEnd()} />
      </Panel>
      <Panel title="Settings" class="wide">
        <Facts class="pairs columns" facts={Object.entries(row.settings).map(([key, value]) => [key, plain(value)])} />
      </Panel>
      <Panel title="Machine" class="wide">
        <Facts
          class="pairs columns"
          facts={Object.entries(detail.environment).map(([key, value]) => [words(key), plain(value)])}
        />
      </Panel>
    </div>
  );
}

function planSentence(plan: readonly number[]): string {
  const unique = new Set(plan).size;
  if (unique === plan.length) return `${plan.length} layers, each with weights of its own.`;
  return `${plan.length} layers run, ${unique} own weights: the others use theirs again.`;
}
