/** Several runs: their curves over each other, and only the settings in which they differ. */
import type { CompareAnswer, RunRow } from "../../src/studio/api.ts";
import { rows } from "../data/live.ts";
import { useGet } from "../data/loaded.ts";
import { asked, href } from "../data/route.ts";
import { useSeries } from "../data/series.ts";
import { Swatch } from "../parts/chart.tsx";
import { AxisControls, axesAsked, Curves } from "../parts/curves-view.tsx";
import { bestText, depthText, duration, plain, short, words } from "../parts/format.ts";
import { EmptyView, Fault, Heading, Panel, Scroll, StatusBadge } from "../parts/ui.tsx";

/** Curves and differences of the runs in the address. */
export function CompareView() {
  const ids = asked("ids").split(",").filter(Boolean);
  const { value, error } = useGet<CompareAnswer>(
    ids.length > 1 ? `/api/compare?ids=${ids.map(encodeURIComponent).join(",")}` : undefined,
  );
  const { x, range } = axesAsked();
  const { series, axes, error: missing } = useSeries({ ids: ids.length > 1 ? ids : [], x, range });
  if (ids.length < 2) {
    return (
      <EmptyView view="Compare" title="Nothing to compare yet">
        <p>
          Select two runs or more in <a href={href("runs")}>the table of runs</a>.
        </p>
      </EmptyView>
    );
  }
  const runs = (value?.runs ?? []).map((run) => rows.value.get(run.id) ?? run);
  return (
    <>
      <Heading title="Compare" lead={`${ids.length} runs: their curves, and the settings in which they differ`} />
      <Fault error={error ?? missing} />
      {value && <Differences answer={value} />}
      <AxisControls axes={axes} />
      <Curves runs={runs} series={series} />
    </>
  );
}

const bestOf = ({ best }: RunRow) => (best ? `${bestText(best)} ${words(best.name)}` : "–");

function Differences({ answer: { runs, differences } }: { readonly answer: CompareAnswer }) {
  const results = [
    ["status", (i: number) => <StatusBadge status={runs[i]!.status} />],
    ["best", (i: number) => bestOf(runs[i]!)],
    ["blocks → depth", (i: number) => depthText(runs[i]!)],
    ["parameters", (i: number) => short(runs[i]!.parameters)],
    ["FLOPs per token", (i: number) => short(runs[i]!.flopsPerToken)],
    ["tokens per second", (i: number) => short(runs[i]!.tokensPerSecond)],
    ["time", (i: number) => duration(runs[i]!.elapsedMs)],
  ] as const;
  const changed = Object.entries(differences);
  return (
    <Panel title="Results and changed settings">
      <Scroll label="Table of results and settings">
        <table>
          <thead>
            <tr>
              <td />
              {runs.map((run, i) => (
                <th scope="col" key={run.id}>
                  <Swatch colour={i} /> <a href={href("run", run.id)}>{run.path}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {results.map(([name, show]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {runs.map((run, i) => (
                  <td class="number left" key={run.id}>
                    {show(i)}
                  </td>
                ))}
              </tr>
            ))}
            <tr>
              <th scope="rowgroup" colSpan={runs.length + 1} class="sub">
                {changed.length === 0 ? "The same settings" : "Settings that differ"}
              </th>
            </tr>
            {changed.map(([name, values]) => (
              <tr key={name}>
                <th scope="row">{words(name)}</th>
                {values.map((value, i) => (
                  <td class="number left" key={runs[i]?.id}>
                    {plain(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}
