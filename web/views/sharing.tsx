/** The table of sharing as it fills: what fewer weights cost in quality, and that they save no time. */
import type { SharingAnswer, SharingRow } from "../../src/studio/api.ts";
import { rows } from "../data/live.ts";
import { useGet } from "../data/loaded.ts";
import { href } from "../data/route.ts";
import { short, spreadText } from "../parts/format.ts";
import { Empty, Fault, Heading, Panel, StatusBadge, Table } from "../parts/ui.tsx";

/** Every comparison below the folder. */
export function SharingView() {
  const version = [...rows.value.values()].map(({ id, status }) => `${id} ${status}`).join();
  const { value, error } = useGet<SharingAnswer>("/api/sharing", version);
  return (
    <>
      <Heading title="Sharing" lead="what fewer weights cost, with parameters, depth, FLOPs and time side by side">
        <a class="button" href={href("new", "", { task: "compare" })}>
          New comparison
        </a>
      </Heading>
      <Fault error={error} />
      {value?.comparisons.length === 0 && (
        <Empty title="No comparisons here yet" commands={["layerwise compare --preset tiny --seeds 2"]} />
      )}
      {value?.comparisons.map(({ path, task, rows: list }) => (
        <Panel key={path} title={`${path} (${task})`}>
          <SharingTable rows={list} />
        </Panel>
      ))}
    </>
  );
}

function SharingTable({ rows }: { readonly rows: readonly SharingRow[] }) {
  const figures = ["Parameters", "Depth", "FLOPs/token", "Tokens/s", "Seconds", "Perplexity"];
  return (
    <Table label="Table of sharing" heads={["Model", ...figures.map((name) => [name, "number"] as const), "Runs"]}>
      {rows.map((row) => (
        <tr key={row.name}>
          <th scope="row">{row.name}</th>
          <td class="number">{short(row.parameters)}</td>
          <td class="number">{row.executedDepth ?? "–"}</td>
          <td class="number">{short(row.flopsPerToken)}</td>
          <td class="number">{short(row.tokensPerSecond)}</td>
          <td class="number">{row.seconds?.toFixed(1) ?? "–"}</td>
          <td class="number">{perplexityText(row)}</td>
          <td>
            {row.runs.map(({ id, seed, status }) => (
              <a key={id} class="seed-link" href={href("run", id)}>
                <span class="muted">seed {seed}</span> <StatusBadge status={status} />
              </a>
            ))}
          </td>
        </tr>
      ))}
    </Table>
  );
}

const perplexityText = ({ perplexity }: SharingRow): string =>
  perplexity ? spreadText(perplexity.mean, perplexity.deviation) : "–";
