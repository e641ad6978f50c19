/** A search: π of every block over time, what the network costs, what was cut, seeds side by side, and the front. */
import { useEffect, useState } from "preact/hooks";
import type { RunRow, SearchCut, SearchData, SearchFrame, SeedState } from "../../src/studio/api.ts";
import { jobs, newest, rows } from "../data/live.ts";
import { asked, go, href, setQuery, useShown } from "../data/route.ts";
import { useSearch } from "../data/search.ts";
import { announce } from "../parts/announce.ts";
import { PatternPicture } from "../parts/blocks.tsx";
import { Chart, type Line, type Mark } from "../parts/chart.tsx";
import { Course } from "../parts/course.tsx";
import { indexAt } from "../parts/curves.ts";
import { duration, figure, percent, whole } from "../parts/format.ts";
import { Front } from "../parts/front.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { reducedMotion } from "../parts/media.ts";
import { css, inkOn, scale } from "../parts/palette.ts";
import { kindOfLetter, letterOf, letters } from "../parts/patterns.ts";
import { Empty, EmptyView, Facts, Fault, Heading, Panel, RunPicker, runsThat, StatusBadge } from "../parts/ui.tsx";

const LEAD = "which block each depth wants, while it is being decided";

/** The search of the address, or the newest. */
export function SearchView() {
  const searches = runsThat("search");
  const id = useShown(searches);
  const row = rows.value.get(id);
  const { data, error } = useSearch(id, `${row?.status} ${row?.best?.step} ${endedRetrainings()}`);
  if (id === "") {
    const commands = ["layerwise search --preset quick", "layerwise search --blocks 6 --budget 0.75 --seeds 3"];
    return <EmptyView view="Search" lead={LEAD} title="No searches here yet" commands={commands} />;
  }
  return (
    <>
      <Heading title="Search" lead={LEAD}>
        {row && <StatusBadge status={row.status} />}
        {row && (
          <a class="button" href={href("run", row.id)}>
            Curves and log
          </a>
        )}
      </Heading>
      <div class="controls">
        <RunPicker label="Search" runs={searches} value={id} onChange={(chosen) => go(href("search", chosen))} />
      </div>
      <Fault error={error} />
      {data && <Loaded key={data.id} data={data} row={row} />}
    </>
  );
}

/** A retraining that ends puts its network into the front; its process ends when the network has been measured, too. */
function endedRetrainings(): string {
  const runs = newest.value.filter(({ kind, status }) => kind === "retrain" && status === "finished");
  const ended = jobs.value.filter(({ state }) => state === "ended");
  return [...runs, ...ended].map(({ id }) => id).join();
}

function Loaded({ data, row }: { readonly data: SearchData; readonly row: RunRow | undefined }) {
  const steps = data.frames.map(({ step }) => step);
  const wanted = Number(asked("step", "NaN"));
  const index = Number.isFinite(wanted) ? Math.max(0, indexAt(steps, wanted)) : steps.length - 1;
  const frame = data.frames[index];
  useEffect(() => {
    if (row?.status === "running" && frame) announce(`step ${whole(frame.step)}: ${frame.pattern ?? ""}`);
  }, [data.frames.length]);
  return (
    <>
      {frame ? (
        <>
          <Moment data={data} frame={frame} index={index} />
          <Timeline data={data} frame={frame} />
        </>
      ) : (
        <Empty title="No evaluation yet: π is shown from the first one on" />
      )}
      {data.seeds.length > 1 && <Seeds data={data} />}
      {data.front.length > 0 && (
        <Panel title="Found networks: perplexity against latency">
          <Front points={data.front} budgetMs={data.budgetMs} />
        </Panel>
      )}
    </>
  );
}

interface MomentProps {
  readonly data: SearchData;
  readonly frame: SearchFrame;
  readonly index: number;
}

function Moment({ data, frame, index }: MomentProps) {
  const names = [...new Set(data.candidates.flat())];
  const at = (block: number, row: number) => {
    const candidate = data.candidates[block]?.indexOf(names[row]!) ?? -1;
    const value = frame.probabilities[block]?.[candidate];
    return value === undefined || value === 0 ? undefined : value;
  };
  return (
    <Panel title="π: how probable each candidate is, in percent" class="wide">
      <Facts facts={momentFacts(data, frame)} />
      <Slider data={data} index={index} />
      <HeatMap
        label={`Probability of each candidate per block at step ${whole(frame.step)}`}
        columnTitle="block"
        columns={data.candidates.map((_, block) => `${block + 1}`)}
        rows={names}
        at={at}
      />
      {frame.pattern && (
        <>
          <h3>The network it would take now</h3>
          <PatternPicture blocks={letters(frame.pattern).map(kindOfLetter)} />
          <p class="muted">
            <code>{frame.pattern}</code>
            {shunsIdentity(data, frame) &&
              " · identity is taken only where nothing else is left, or where the budget needs it"}
          </p>
        </>
      )}
    </Panel>
  );
}

/** Whether π likes identity best in a block for which the pattern has something that computes. */
function shunsIdentity({ candidates }: SearchData, { probabilities, pattern }: SearchFrame): boolean {
  return letters(pattern ?? "").some((letter, block) => {
    const shares = probabilities[block] ?? [];
    const likeliest = candidates[block]?.[shares.indexOf(Math.max(...shares))];
    return likeliest === "identity" && kindOfLetter(letter) !== "identity";
  });
}

const isOpen = (probabilities: readonly number[]) => probabilities.filter((value) => value > 0).length > 1;

/** What the server saw cut, and blocks that settled: all probability on one candidate, with the others still compiled in. */
function cutsOf({ cuts, frames, candidates }: SearchData): SearchCut[] {
  const settled = candidates.flatMap((names, block) => {
    const at = frames.findIndex(({ probabilities }) => !isOpen(probabilities[block] ?? []));
    if (at < 1 || cuts.some((cut) => cut.block === block && cut.left.length === 1)) return [];
    const { step, probabilities } = frames[at]!;
    const kept = (i: number) => probabilities[block]![i]! > 0;
    return [{ step, block, cut: names.filter((_, i) => !kept(i)), left: names.filter((_, i) => kept(i)) }];
  });
  return [...cuts, ...settled].sort((a, b) => a.step - b.step);
}

function momentFacts({ budgetMs, found }: SearchData, frame: SearchFrame): [string, string][] {
  const cost = (ms: number | null) =>
    ms === null ? "–" : `${figure(ms)} ms${budgetMs === null ? "" : `, ${percent(ms / budgetMs)} of budget`}`;
  return [
    ["step", whole(frame.step)],
    ["time", duration(frame.minutes * 60_000)],
    ["temperature τ", figure(frame.temperature)],
    ["perplexity", figure(frame.perplexity)],
    ["latency, mean over π", cost(frame.expectedMs)],
    ["latency, most probable", cost(frame.chosenMs)],
    ["blocks still choosing", `${frame.probabilities.filter(isOpen).length} of ${frame.left.length}`],
    ...(found ? ([["found", found.pattern]] as [string, string][]) : []),
  ];
}

const FRAME_MS = 300;

/** Time: a slider over evaluations, and play. */
function Slider({ data, index }: { readonly data: SearchData; readonly index: number }) {
  const [playing, setPlaying] = useState(false);
  const last = data.frames.length - 1;
  const show = (next: number) => setQuery({ step: next >= last ? undefined : String(data.frames[next]!.step) });
  useEffect(() => {
    if (!playing) return;
    if (index >= last) return setPlaying(false);
    const timer = setTimeout(() => show(index + 1), FRAME_MS);
    return () => clearTimeout(timer);
  }, [playing, index, last]);
  const play = () => {
    if (!playing && index >= last) show(0);
    setPlaying(!playing);
  };
  return (
    <div class="slider">
      <button type="button" onClick={play} disabled={reducedMotion.value || last < 1}>
        {playing ? "Pause" : "Play"}
      </button>
      <input
        type="range"
        min="0"
        max={Math.max(0, last)}
        value={index}
        aria-label="Time of the search"
        aria-valuetext={`step ${whole(data.frames[index]?.step ?? 0)}`}
        onInput={({ currentTarget }) => {
          setPlaying(false);
          show(Number(currentTarget.value));
        }}
      />
      <span class="number">
        {whole(data.frames[index]?.step ?? 0)} / {whole(data.frames[last]?.step ?? 0)}
      </span>
      {reducedMotion.value && (
        <span class="hint">Your system asks for less motion, so play is off; the slider works.</span>
      )}
    </div>
  );
}

function Timeline({ data, frame }: { readonly data: SearchData; readonly frame: SearchFrame }) {
  const { frames, budgetMs } = data;
  const cuts = cutsOf(data);
  const curve = (label: string, colour: number, value: (each: SearchFrame) => number | null): Line => ({
    label,
    colour,
    x: frames.map(({ step }) => step),
    y: frames.map(value),
    smooth: false,
  });
  const marks = [...marksOf(cuts), { x: frame.step, label: "" }];
  const costs = [
    curve("mean over π", 0, (each) => each.expectedMs),
    curve("most probable", 1, (each) => each.chosenMs),
  ];
  const hasCosts = frames.some(({ expectedMs }) => expectedMs !== null);
  const budget = { ...curve("budget", 4, () => budgetMs), dashed: true };
  const common = { xTitle: "steps", marks, syncKey: "search" };
  return (
    <>
      <Panel title="How each block made up its mind">
        <Course data={data} index={frames.indexOf(frame)} />
      </Panel>
      <div class="charts">
        <Chart title="Perplexity" lines={[curve("valid", 0, (each) => each.perplexity)]} {...common} />
        <Chart title="Temperature τ" lines={[curve("τ", 2, (each) => each.temperature)]} {...common} />
        {hasCosts && <Chart title="Latency, ms" lines={budgetMs === null ? costs : [...costs, budget]} {...common} />}
      </div>
      {cuts.length > 0 && (
        <Panel title="Cuts and settlings">
          <ol class="cuts number">
            {cuts.map(({ step, block, cut, left }) => (
              <li key={`${step} ${block}`}>
                <b>step {whole(step)}</b>: block {block + 1} lost {cut.join(", ")}
                {left.length === 1 ? `; settled on ${left[0]}` : `; ${left.join(", ")} left`}
              </li>
            ))}
          </ol>
        </Panel>
      )}
    </>
  );
}

/** Cuts at one step are one mark. */
function marksOf(cuts: readonly SearchCut[]): Mark[] {
  const steps = [...new Set(cuts.map(({ step }) => step))];
  return steps.map((step) => {
    const count = cuts.filter((cut) => cut.step === step).length;
    return { x: step, label: count === 1 ? "cut" : `${count} cuts` };
  });
}

function Seeds({ data }: { readonly data: SearchData }) {
  return (
    <Panel title="Seeds side by side">
      <ul class="seeds">
        {data.seeds.map((seed) => (
          <li key={seed.seed} class={seed.chosen ? "chosen" : ""}>
            <div class="row between">
              <h3>
                <a href={href("search", seed.id)}>Seed {seed.seed}</a>
              </h3>
              {seed.chosen ? <span class="badge status-finished">chosen</span> : <StatusBadge status={seed.status} />}
            </div>
            {seed.probabilities && <MiniMap seed={seed} names={data.candidates[0] ?? []} />}
            <Facts
              facts={[
                ["pattern", <code key="pattern">{seed.pattern ?? "–"}</code>],
                ["perplexity", figure(seed.perplexity)],
                [
                  "ms",
                  seed.ms === null ? "–" : `${figure(seed.ms)}${seed.withinBudget === false ? ", over budget" : ""}`,
                ],
              ]}
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** π of a seed in small: a column per block; the numbers are in its own map. */
function MiniMap({ seed, names }: { readonly seed: SeedState; readonly names: readonly string[] }) {
  const blocks = seed.probabilities!;
  return (
    <div class="mini-map" role="img" aria-label={`π of seed ${seed.seed}: ${seed.pattern ?? ""}`}>
      <div class="kinds">
        {names.map((name) => (
          <b key={name}>{letterOf(name)}</b>
        ))}
      </div>
      {blocks.map((values, block) => (
        <div key={block}>
          {values.map((value, i) => {
            const colour = scale(value);
            return (
              <span key={i} style={{ backgroundColor: css(colour), color: inkOn(colour) }}>
                {Math.round(100 * value)}
              </span>
            );
          })}
        </div>
      ))}
    </div>
  );
}
