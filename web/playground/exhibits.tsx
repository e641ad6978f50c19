/** The three exhibits: share (a plan of layers), search (π as it decides), adapt (tokens by their depth). */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { PatternPicture } from "../parts/blocks.tsx";
import { Chart, type Line } from "../parts/chart.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { kindOfLetter, letters } from "../parts/patterns.ts";
import { DepthScale, Pieces } from "../parts/pieces.tsx";
import { Facts, Field, Heading, Panel, Table } from "../parts/ui.tsx";
import { change, numberOf, plan, sample } from "./address.ts";
import { Faults, KeptPanel, ResultPanel, Slider, TextPanel, TrainButton } from "./panels.tsx";
import { PlanEditor } from "./plan-editor.tsx";
import type { Frame, Report } from "./protocol.ts";
import { adaptRun, searchRun, shareRuns } from "./runs.ts";
import { VANISHING } from "./search-recipe.ts";
import { type Course, courses, depths, isTraining, order, reports } from "./training.ts";

function lossLine(label: string, colour: number, course: Course | undefined): Line[] {
  if (!course || course.losses.length === 0) return [];
  return [{ label, colour, x: course.losses.map((_, i) => i + 1), y: course.losses }];
}

const millions = (value: number) => `${(value / 1e6).toFixed(value < 1e6 ? 3 : 2)} M`;
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** What every exhibit has: what to choose with the button that trains it, what is seen of it (`children`), and what comes of the run. */
function Exhibit(props: {
  readonly title: string;
  readonly lead: string;
  readonly choosing: string;
  readonly controls: ComponentChildren;
  /** Of the run. */
  readonly name: string;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <Heading title={props.title} lead={props.lead} />
      <Panel title={props.choosing}>
        {props.controls}
        <TrainButton />
        <Faults />
      </Panel>
      {props.children}
      <ResultPanel name={props.name} />
      <TextPanel />
      <KeptPanel />
    </>
  );
}

/** Share: one plan beside the model in which every layer has weights of its own. */
export function ShareView() {
  const { shared, unshared } = shareRuns.value;
  const here = `${shared.name} ${unshared.name}`;
  useEffect(() => order({ type: "report", plans: { shared: shared.values, unshared: unshared.values } }), [here]);
  const [mine, other] = [courses.value.get(shared.name), courses.value.get(unshared.name)];
  return (
    <Exhibit
      title="Share"
      lead="A layer may run several times. Drag layers onto each other, and train the result beside the model in which each layer has its own weights."
      choosing="Layers"
      name={shared.name}
      controls={
        <>
          <PlanEditor plan={plan.value} disabled={isTraining.value} />
          <div class="controls">
            <Slider name="width" label="Width" from={32} to={128} step={16} />
            <Slider name="steps" label="Steps" from={20} to={400} step={10} />
          </div>
        </>
      }
    >
      <Panel title="Side by side">
        <SizeTable
          rows={[
            ["Your plan", reports.value.shared, mine],
            ["No sharing", reports.value.unshared, other],
          ]}
        />
        <Chart
          title="Training loss"
          xTitle="step"
          smoothing={0.6}
          lines={[...lossLine("Your plan", 0, mine), ...lossLine("No sharing", 1, other)]}
        />
      </Panel>
    </Exhibit>
  );
}

function SizeTable({
  rows,
}: {
  readonly rows: readonly (readonly [string, Report | undefined, Course | undefined])[];
}) {
  const figures = ["Layers run", "Own weights", "Parameters", "FLOPs per token", "Loss, held-out text", "ms per step"];
  return (
    <Table label="Sizes and losses" heads={["Model", ...figures.map((name) => [name, "number"] as const)]}>
      {rows.map(([name, report, course]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="number">{report?.executedDepth ?? "–"}</td>
          <td class="number">{report?.uniqueBlocks ?? "–"}</td>
          <td class="number">{report ? millions(report.parameters) : "–"}</td>
          <td class="number">{report ? millions(report.flopsPerToken) : "–"}</td>
          <td class="number">{course?.valid.at(-1)?.[1].toFixed(3) ?? "–"}</td>
          <td class="number">{course && course.ms.length > 0 ? mean(course.ms).toFixed(0) : "–"}</td>
        </tr>
      ))}
    </Table>
  );
}

const candidateRows = (frames: readonly Frame[]) => [
  ...new Set(frames.flatMap(({ choices }) => choices.flatMap(({ names }) => names))),
];

/** A forward pass by the costs that were measured in this tab. */
function latencyFacts({ expectedMs, chosenMs }: Frame) {
  const ms = (value: number | undefined) => (value === undefined ? "–" : `${value.toFixed(2)} ms`);
  return expectedMs === undefined
    ? []
    : ([
        ["its latency", ms(chosenMs)],
        ["mean over π", ms(expectedMs)],
      ] as const);
}

/** Search: what each block wants to be, while it is being decided. */
export function SearchView() {
  const { name } = searchRun.value;
  const course = courses.value.get(name);
  const frames = course?.frames ?? [];
  const frame = frames.at(-1);
  const rows = candidateRows(frames);
  const at = (column: number, row: number) => {
    const { names, probabilities } = frame!.choices[column]!;
    return probabilities[names.indexOf(rows[row]!)];
  };
  return (
    <Exhibit
      title="Search"
      lead="Each block may become attention or feed-forward. Weights and choice are trained together; what a block is most likely to be, π, sharpens as it trains."
      choosing="Search"
      name={name}
      controls={
        <>
          <div class="controls">
            <Slider name="blocks" label="Blocks" from={2} to={10} />
            <Slider
              name="budget"
              label="Budget"
              from={0.3}
              to={1}
              step={0.05}
              shown={(value) => `${Math.round(100 * value)} % of the baseline's latency`}
            />
            <Slider name="steps" label="Steps" from={30} to={400} step={10} />
          </div>
          <p class="hint">
            The baseline has attention and feed-forward in turn. What blocks cost is measured in this tab first.
            Attention costs several times as much, so a budget leaves it where it lowers the loss most; below{" "}
            {Math.round(100 * VANISHING)} % blocks may vanish, too.
          </p>
        </>
      }
    >
      <Panel title="π, block by block">
        {frame ? (
          <>
            <HeatMap
              label={`π at step ${frame.step}`}
              columnTitle="block"
              columns={frame.choices.map((_, i) => `${i + 1}`)}
              rows={rows}
              at={at}
            />
            <Facts facts={[["step", frame.step], ["network now", frame.pattern], ...latencyFacts(frame)]} />
            <PatternPicture blocks={letters(frame.pattern).map(kindOfLetter)} />
          </>
        ) : (
          <p class="muted">π appears here as soon as the search has begun.</p>
        )}
        <Chart title="Training loss" xTitle="step" smoothing={0.6} lines={lossLine("Search", 0, course)} />
      </Panel>
    </Exhibit>
  );
}

/** Adapt: every token runs as many layers as it needs. */
export function AdaptView() {
  const { name } = adaptRun.value;
  const course = courses.value.get(name);
  const found = depths.value;
  const average = found && found.tokens.length > 0 ? mean(found.tokens.map(({ depth }) => depth)) : undefined;
  return (
    <Exhibit
      title="Adapt"
      lead="One block, run again and again, until each token has had enough. A small price on depth teaches the model to stop early where it can."
      choosing="Halting"
      name={name}
      controls={
        <div class="controls">
          <Slider name="depth" label="Layers at most" from={2} to={10} />
          <Slider
            name="ponder"
            label="Price of a layer"
            from={0}
            to={0.05}
            step={0.005}
            shown={(value) => value.toFixed(3)}
          />
          <Slider name="steps" label="Steps" from={40} to={600} step={20} />
          <Field label="Text to look at" class="grow">
            <input
              value={sample.value}
              maxLength={200}
              disabled={isTraining.value}
              onInput={({ currentTarget }) => change({ sample: currentTarget.value || null })}
            />
          </Field>
        </div>
      }
    >
      <Panel title="Depth of each token">
        {found ? (
          <>
            <Pieces
              label={`Tokens by depth at step ${found.step}`}
              cap={found.cap}
              pieces={found.tokens.map(({ text, depth }) => ({ text, depth, label: `depth ${depth} of ${found.cap}` }))}
              onShow={() => {}}
            />
            <DepthScale cap={found.cap} />
            <Facts
              facts={[
                ["step", found.step],
                ["mean depth", average?.toFixed(2) ?? "–"],
                ["price begins at step", Math.ceil(0.3 * numberOf("steps"))],
              ]}
            />
          </>
        ) : (
          <p class="muted">The text appears here, coloured by depth, and changes as the model trains.</p>
        )}
        <Chart title="Training loss" xTitle="step" smoothing={0.6} lines={lossLine("Halting model", 0, course)} />
      </Panel>
    </Exhibit>
  );
}
