/** Depth per token: a sentence coloured by how deep each piece ran, tables by kind, two runs side by side. */
import { useEffect, useState } from "preact/hooks";
import type { DepthAnswer, DepthRow, DepthTables, RunId } from "../../src/studio/api.ts";
import { rows } from "../data/live.ts";
import { useAction } from "../data/loaded.ts";
import { asked, go, href, setQuery, useShown } from "../data/route.ts";
import { post, type ServerError } from "../data/server.ts";
import { figure, percent, whole } from "../parts/format.ts";
import { Bars, DepthScale, Pieces } from "../parts/pieces.tsx";
import { EmptyView, Fault, Field, Heading, Panel, RunPicker, runsThat, TextField } from "../parts/ui.tsx";

const LEAD = "how many times each token passes through the model";
const SENTENCES = [
  "The cat that the dogs chased sat on the mat.",
  "It was a bright cold day, and the clocks were striking.",
  "She said that he [MASK] not come.",
];

/** Depths of a text in one run, or in two. */
export function DepthView() {
  const able = runsThat("depth");
  const id = useShown(able);
  const [beside, text] = [asked("beside"), asked("text", SENTENCES[0])];
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  if (id === "") {
    const commands = ["layerwise pretrain --preset tiny", "layerwise train --preset tiny --halt"];
    return (
      <EmptyView view="Depth" lead={LEAD} title="No runs here whose tokens choose their depth" commands={commands} />
    );
  }
  const ids = beside ? [id, beside] : [id];
  return (
    <>
      <Heading title="Depth" lead={LEAD} />
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ text: draft });
        }}
      >
        <div class="controls">
          <RunPicker
            label="Run"
            runs={able}
            value={id}
            onChange={(chosen) => go(href("depth", chosen, { text, beside }))}
          />
          <RunPicker
            label="Beside it"
            none="no other run"
            runs={able}
            value={beside}
            onChange={(chosen) => setQuery({ beside: chosen })}
          />
        </div>
        <TextField label="Text" value={draft} onText={setDraft} />
        <div class="row wrap">
          <button type="submit" class="primary">
            Show depths
          </button>
          {SENTENCES.map((sentence) => (
            <button type="button" key={sentence} class="quiet" onClick={() => setQuery({ text: sentence })}>
              {sentence}
            </button>
          ))}
        </div>
      </form>
      <div class={ids.length > 1 ? "side-by-side" : ""}>
        {ids.map((each) => (
          <OneRun key={each} id={each} text={text} />
        ))}
      </div>
    </>
  );
}

function OneRun({ id, text }: { readonly id: RunId; readonly text: string }) {
  const [answer, setAnswer] = useState<DepthAnswer>();
  const [error, setError] = useState<ServerError>();
  const [at, setAt] = useState<number>();
  useEffect(() => {
    let ended = false;
    setAt(undefined);
    post<DepthAnswer>(`/api/runs/${encodeURIComponent(id)}/depth`, { text }).then(
      (got) => {
        if (ended) return;
        setAnswer(got);
        setError(undefined);
      },
      (reason: ServerError) => ended || setError(reason),
    );
    return () => {
      ended = true;
    };
  }, [id, text]);
  return (
    <Panel title={rows.value.get(id)?.path ?? id} aside={answer && <DepthScale cap={answer.cap} />}>
      <Fault error={error} />
      {!answer && !error && <p class="muted">Reading the model …</p>}
      {answer && (
        <>
          <Pieces
            label="Pieces with their depths"
            cap={answer.cap}
            pieces={answer.tokens.map(({ piece, depth }) => ({
              text: piece,
              depth,
              label: `depth ${depth} of ${answer.cap}`,
            }))}
            onShow={setAt}
          />
          <Detail answer={answer} at={at} />
          <p class="muted number">{summaryOf(answer)}</p>
        </>
      )}
      <Tables id={id} />
    </Panel>
  );
}

function summaryOf({ tokens, cap, causal, step }: DepthAnswer): string {
  const mean = tokens.reduce((sum, { depth }) => sum + depth, 0) / Math.max(1, tokens.length);
  const direction = causal ? "each piece sees those before it" : "pieces see both sides";
  return `${whole(tokens.length)} pieces, mean depth ${mean.toFixed(2)} of ${cap}; ${direction}; checkpoint of step ${whole(step)}`;
}

/** Halting probability of a piece at each iteration that it ran. */
function Detail({ answer, at }: { readonly answer: DepthAnswer; readonly at: number | undefined }) {
  const token = at === undefined ? undefined : answer.tokens[at];
  if (!token)
    return (
      <p class="detail muted">
        Point at a piece, or move to one with Tab, to see its halting probability per iteration.
      </p>
    );
  const list = token.halting.map((value, i) => ({
    name: `iteration ${i + 1}`,
    fraction: value,
    text: value.toFixed(3),
  }));
  return (
    <div class="detail">
      <h3>
        {token.piece.replaceAll("▁", " ")}{" "}
        <span class="muted">
          depth {token.depth} of {answer.cap}
        </span>
      </h3>
      <Bars rows={list} empty="The depth of this model is fixed: it has no halting probabilities." />
    </div>
  );
}

const TITLES = { kinds: "By kind of token", upos: "By part of speech", deprel: "By relation" } as const;

/** Texts that a table is made of. */
const TEXTS = 64;

/** Tables by kind on demand: they read many texts. */
function Tables({ id }: { readonly id: RunId }) {
  const [tables, setTables] = useState<DepthTables>();
  const { busy, error, run } = useAction();
  const path = `/api/runs/${encodeURIComponent(id)}/depth/table`;
  const read = (body: object) => run(async () => setTables(await post<DepthTables>(path, body)));
  const readFile = async (file: File | undefined) => file && read({ conllu: await file.text() });
  const wanted = asked("table") === "kinds";
  useEffect(() => {
    if (wanted) read({ texts: TEXTS });
  }, [wanted, id]);
  return (
    <div class="tables">
      <div class="row wrap">
        <button
          type="button"
          disabled={busy}
          aria-pressed={wanted}
          onClick={() => setQuery({ table: wanted ? undefined : "kinds" })}
        >
          {busy ? "Reading texts …" : "Table by kind of token"}
        </button>
        <Field label="By part of speech and relation: a CoNLL-U file">
          <input
            type="file"
            accept=".conllu,.txt"
            disabled={busy}
            onChange={({ currentTarget }) => void readFile(currentTarget.files?.[0])}
          />
        </Field>
      </div>
      <Fault error={error} />
      {tables &&
        (wanted || !tables.tables.kinds) &&
        Object.entries(tables.tables).map(([name, list]) => (
          <DepthTable key={name} title={TITLES[name as keyof typeof TITLES]} rows={list ?? []} cap={tables.cap} />
        ))}
    </div>
  );
}

function DepthTable({
  title,
  rows,
  cap,
}: {
  readonly title: string;
  readonly rows: readonly DepthRow[];
  readonly cap: number;
}) {
  return (
    <table class="depths">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col">Mean depth</th>
          <th scope="col" class="number">
            Deviation
          </th>
          <th scope="col" class="number">
            At the cap
          </th>
          <th scope="col" class="number">
            Tokens
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, tokens, mean, deviation, atCap }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <span class="meter">
                <span class="bar-track" aria-hidden="true">
                  <span class="bar-fill" style={{ width: `${((100 * mean) / cap).toFixed(1)}%` }} />
                </span>
                <span class="number">{mean.toFixed(2)}</span>
              </span>
            </td>
            <td class="number">{figure(deviation)}</td>
            <td class="number">{percent(atCap, 1)}</td>
            <td class="number">{whole(tokens)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
