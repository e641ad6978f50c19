/** A sweep: its trials as they run, the best so far, and what each setting does to the figure. */
import type { SweepAnswer, SweepCandidate, SweepTrialState } from "../../src/studio/api.ts";
import { about, rows, sweeps } from "../data/live.ts";
import { useGet } from "../data/loaded.ts";
import { asked, go, href, setQuery, useShown } from "../data/route.ts";
import { countsOf, course, figureText, keyOf, valuesText, withRows } from "../data/sweep.ts";
import { Chart } from "../parts/chart.tsx";
import { figure, plain, whole } from "../parts/format.ts";
import { ParallelCoordinates, Scatters } from "../parts/trials.tsx";
import { Command, Empty, Facts, Fault, Field, Heading, Panel, Scroll } from "../parts/ui.tsx";

const LEAD = "many settings tried, and which do best";
/** Curves that can be looked at together. */
const MOST_CURVES = 16;

/** The sweep of the address, or the one that changed last. */
export function SweepView() {
  const list = sweeps.value;
  const id = useShown(list ?? []) || undefined;
  const statuses = [...rows.value.values()].map((row) => `${row.id} ${row.status}`).join();
  const version = `${list?.find((each) => each.id === id)?.changedMs} ${statuses}`;
  const { value, error } = useGet<SweepAnswer>(id && `/api/sweeps/${encodeURIComponent(id)}`, version);
  return (
    <>
      <Heading title="Sweep" lead={LEAD} />
      <Fault error={error} />
      {list && list.length > 0 && (
        <div class="controls">
          <Field label="Sweep">
            <select value={id} onChange={({ currentTarget }) => go(href("sweep", currentTarget.value))}>
              {list.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.path}
                </option>
              ))}
            </select>
          </Field>
        </div>
      )}
      {list?.length === 0 && <NoSweeps />}
      {value && <Loaded sweep={withRows(value, rows.value)} />}
    </>
  );
}

const EXAMPLE = `task: language
preset: tiny
settings: { steps: 400 }
vary:
  rate: [0.001, 0.003, 0.01]
  share: [cycle, sequence]
seeds: 2`;

function NoSweeps() {
  return (
    <Empty
      title="No sweeps here yet"
      commands={[`layerwise sweep rates.yaml --out ${about.value?.folder ?? "runs"}/rates`]}
    >
      <p>Write what varies into a file, such as rates.yaml, and start it:</p>
      <pre>{EXAMPLE}</pre>
    </Empty>
  );
}

function Loaded({ sweep }: { readonly sweep: SweepAnswer }) {
  const chosen = sweep.candidates.find((each) => keyOf(each) === asked("candidate"));
  const choose = (candidate: SweepCandidate) => setQuery({ candidate: keyOf(candidate) });
  const pictures = { sweep, chosen, onChoose: choose };
  const hasFigures = sweep.best !== null;
  return (
    <>
      <Facts facts={factsOf(sweep)} />
      <Next sweep={sweep} />
      {chosen && <Chosen sweep={sweep} candidate={chosen} />}
      {sweep.varies.length > 0 && (
        <Panel title="All settings at once" class="wide">
          <ParallelCoordinates {...pictures} />
        </Panel>
      )}
      {hasFigures && (
        <div class="charts narrow">
          <Progress sweep={sweep} />
          <Scatters {...pictures} />
        </div>
      )}
      <Panel title="Trials" aside={<Curves sweep={sweep} />}>
        <Trials {...pictures} />
      </Panel>
    </>
  );
}

function factsOf(sweep: SweepAnswer): [string, string][] {
  const { all, ended, running, diverged } = countsOf(sweep);
  const best = sweep.best === null ? undefined : sweep.candidates[sweep.best];
  return [
    ["task", sweep.task],
    ["strategy", sweep.strategy],
    ["trials ended", `${whole(ended)} of ${whole(all)}${diverged > 0 ? `, ${diverged} diverged` : ""}`],
    ["running", whole(running)],
    [`best ${sweep.figure} ${ended === all ? "" : "so far"} (${sweep.goal})`, best ? figureText(best) : "–"],
    ["with", best ? valuesText(best) : "–"],
  ];
}

function Next({ sweep }: { readonly sweep: SweepAnswer }) {
  if (countsOf(sweep).running > 0) return null;
  return (
    <div class="commands">
      {sweep.next.slice(0, 1).map((command) => (
        <Command key={command} text={command} />
      ))}
    </div>
  );
}

/** One candidate: what it came to, its runs, and the command that trains it alone. */
function Chosen({ sweep, candidate }: { readonly sweep: SweepAnswer; readonly candidate: SweepCandidate }) {
  const ids = candidate.trials.flatMap(({ id }) => id ?? []);
  const file = `${about.value?.folder ?? "runs"}/${sweep.path}/trials/${candidate.trials[0]!.index}.yaml`;
  const commands: Readonly<Record<string, string>> = { language: "train", translate: "train" };
  const command = commands[sweep.task] ?? sweep.task;
  return (
    <div class="chosen-point">
      <h2>{valuesText(candidate)}</h2>
      <Facts
        facts={[
          [sweep.figure, figureText(candidate)],
          ["seeds", candidate.trials.map(({ seed }) => seed).join(", ")],
          [
            "ended",
            `${candidate.trials.filter(({ status }) => status === "finished").length} of ${candidate.trials.length}`,
          ],
        ]}
      />
      {["train", "pretrain", "search"].includes(command) && <Command text={`layerwise ${command} --config ${file}`} />}
      <div class="row wrap">
        {ids.length > 1 && (
          <a class="button" href={href("compare", "", { ids: ids.slice(0, MOST_CURVES).join(",") })}>
            Curves of its seeds
          </a>
        )}
        {ids.length === 1 && (
          <a class="button" href={href("run", ids[0])}>
            Its run
          </a>
        )}
        <button type="button" class="quiet" onClick={() => setQuery({ candidate: undefined })}>
          Close
        </button>
      </div>
    </div>
  );
}

function Progress({ sweep }: { readonly sweep: SweepAnswer }) {
  const { x, y, best } = course(sweep, rows.value);
  if (x.length < 2) return null;
  const lines = [
    { label: "each trial", colour: 7, x, y, smooth: false, dashed: true },
    { label: "best so far", colour: 0, x, y: best, smooth: false },
  ];
  return <Chart title={`${sweep.figure}, best so far`} lines={lines} xTitle="trials" />;
}

/** The best candidates' curves over each other. */
function Curves({ sweep }: { readonly sweep: SweepAnswer }) {
  const ids = sweep.candidates.flatMap(({ trials }) => trials.flatMap(({ id }) => id ?? []));
  if (ids.length < 2) return null;
  return (
    <a class="button" href={href("compare", "", { ids: ids.slice(0, MOST_CURVES).join(",") })}>
      {ids.length > MOST_CURVES ? `Curves of the best ${MOST_CURVES}` : "Curves of all"}
    </a>
  );
}

interface TableProps {
  readonly sweep: SweepAnswer;
  readonly chosen: SweepCandidate | undefined;
  readonly onChoose: (candidate: SweepCandidate) => void;
}

function Trials({ sweep, chosen, onChoose }: TableProps) {
  const names = sweep.varies.map(({ name }) => name);
  const hasRounds = sweep.candidates.some(({ round }) => round > 0);
  const isNamed = sweep.candidates.some(({ name }) => name !== null);
  return (
    <Scroll label="Table of trials">
      <table class="trials">
        <thead>
          <tr>
            <th scope="col" class="number">
              Rank
            </th>
            {isNamed && <th scope="col">Name</th>}
            {names.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            {hasRounds && (
              <th scope="col" class="number">
                Round
              </th>
            )}
            <th scope="col" class="number">
              {sweep.figure}
            </th>
            <th scope="col">Trials</th>
          </tr>
        </thead>
        <tbody>
          {sweep.candidates.map((each, i) => (
            <tr key={keyOf(each)} class={each === chosen ? "chosen" : ""}>
              <th scope="row" class="number">
                <button type="button" class="link" aria-pressed={each === chosen} onClick={() => onChoose(each)}>
                  {each.figure === null ? "–" : i + 1}
                  <span class="sr-only">: choose {valuesText(each)}</span>
                </button>
                {i === sweep.best && " "}
                {i === sweep.best && <span class="badge status-finished">best</span>}
              </th>
              {isNamed && <td>{each.name}</td>}
              {names.map((name) => (
                <td key={name}>{plain(each.values[name])}</td>
              ))}
              {hasRounds && <td class="number">{each.round + 1}</td>}
              <td class="number">{figureText(each)}</td>
              <td>
                {each.trials.map((trial) => (
                  <Trial key={trial.index} trial={trial} />
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Trial({ trial: { seed, id, status, step, figure: value } }: { readonly trial: SweepTrialState }) {
  const what = (
    <>
      <span class="muted">seed {seed}</span>
      {status === "finished" && value !== null ? (
        <b>{figure(value)}</b>
      ) : (
        <span class={`badge status-${status}`}>{status}</span>
      )}
      {status === "running" && whole(step)}
    </>
  );
  return id === null ? (
    <span class="seed-link number">{what}</span>
  ) : (
    <a class="seed-link number" href={href("run", id)}>
      {what}
    </a>
  );
}
