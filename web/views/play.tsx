/** Using a run: text that streams in token by token, translation, filled masks, labels. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ClassifyAnswer, FillAnswer, GenerateLine, RunRow, TranslateAnswer } from "../../src/studio/api.ts";
import { rows } from "../data/live.ts";
import { useAction } from "../data/loaded.ts";
import { asked, go, href, setQuery, useShown } from "../data/route.ts";
import { post, record, request, ServerError, saved } from "../data/server.ts";
import { figure, percent, whole } from "../parts/format.ts";
import { Bars, DepthScale, Pieces } from "../parts/pieces.tsx";
import {
  Choice,
  Empty,
  EmptyView,
  Facts,
  Fault,
  Field,
  Heading,
  Panel,
  RunPicker,
  runsThat,
  TextField,
  Toggle,
} from "../parts/ui.tsx";

const LEAD = "use a model that you trained";
const MODES = [
  ["generate", "Continue a text"],
  ["translate", "Translate"],
  ["fill", "Fill a mask"],
  ["classify", "Classify"],
] as const;
type Mode = (typeof MODES)[number][0];

/** What the run of the address can do. */
export function PlayView() {
  const able = runsThat("generate", "translate", "fill", "classify");
  const id = useShown(able);
  const row = rows.value.get(id);
  if (!row) {
    const commands = ["layerwise train --preset tiny"];
    return <EmptyView view="Play" lead={LEAD} title="No trained models here yet" commands={commands} />;
  }
  const modes = MODES.filter(([mode]) => row.uses.includes(mode));
  const mode = modes.find(([each]) => each === asked("mode"))?.[0] ?? modes[0]?.[0];
  return (
    <>
      <Heading title="Play" lead={LEAD} />
      <div class="controls">
        <RunPicker label="Run" runs={able} value={id} onChange={(chosen) => go(href("play", chosen))} />
        {modes.length > 1 && (
          <Choice label="Do" value={mode!} options={modes} onChange={(chosen) => setQuery({ mode: chosen })} />
        )}
      </div>
      {mode ? (
        <Use key={`${id} ${mode}`} mode={mode} row={row} />
      ) : (
        <Empty title="This run has no checkpoint to use yet" />
      )}
    </>
  );
}

function Use({ mode, row }: { readonly mode: Mode; readonly row: RunRow }) {
  if (mode === "generate") return <Generate row={row} />;
  if (mode === "translate") return <Translate row={row} />;
  return mode === "fill" ? <Fill row={row} /> : <Classify row={row} />;
}

const pathOf = (row: RunRow, use: string) => `/api/runs/${encodeURIComponent(row.id)}/${use}`;

/** A number of the address, if it is one. */
function number(name: string): number | undefined {
  const text = asked(name);
  return text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
}

function NumberField(props: {
  name: string;
  label: string;
  placeholder: string;
  min: number;
  max?: number;
  step: string;
}) {
  return (
    <Field label={props.label}>
      <input
        type="number"
        min={props.min}
        max={props.max}
        step={props.step}
        placeholder={props.placeholder}
        value={asked(props.name)}
        onInput={({ currentTarget }) => setQuery({ [props.name]: currentTarget.value })}
      />
    </Field>
  );
}

type Token = Extract<GenerateLine, { type: "token" }>;

interface Written {
  readonly prompt: string;
  readonly begin?: Extract<GenerateLine, { type: "begin" }>;
  readonly tokens: readonly Token[];
  readonly end?: Extract<GenerateLine, { type: "end" }>;
}

function Generate({ row }: { readonly row: RunRow }) {
  const key = `POST ${pathOf(row, "generate")}`;
  const [written, setWritten] = useState<Written | undefined>(saved?.answers[key] as Written | undefined);
  const [at, setAt] = useState<number>();
  const [keepMemory, setKeepMemory] = useState(false);
  const { busy, error, run } = useAction();
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const prompt = asked("prompt", "it was");
  const start = async () => {
    const asks = {
      prompt,
      tokens: number("tokens"),
      temperature: number("temperature"),
      topK: number("topk"),
      topP: number("topp"),
      seed: number("seed"),
    };
    stop.current = new AbortController();
    let now: Written = { prompt, tokens: [] };
    setWritten(now);
    const body = keepMemory ? { ...asks, keepMemory } : asks;
    for await (const line of linesOf<GenerateLine>(pathOf(row, "generate"), body, stop.current.signal)) {
      now = extended(now, line);
      setWritten(now);
    }
    record(key, now);
  };
  const memory = written?.tokens.at(-1)?.memory ?? null;
  return (
    <>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          run(start);
        }}
      >
        <TextField label="Prompt" value={prompt} onText={(text) => setQuery({ prompt: text })} />
        <div class="controls">
          <NumberField name="tokens" label="Tokens" placeholder="default" min={1} max={4096} step="1" />
          <NumberField name="temperature" label="Temperature" placeholder="default" min={0} step="0.05" />
          <NumberField name="topk" label="Top-k" placeholder="all" min={1} step="1" />
          <NumberField name="topp" label="Top-p" placeholder="1" min={0} max={1} step="0.01" />
          <NumberField name="seed" label="Seed" placeholder="default" min={0} step="1" />
        </div>
        <div class="row wrap">
          <button type="submit" class="primary" disabled={busy || saved !== undefined}>
            Continue the text
          </button>
          {busy && (
            <button type="button" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          )}
          {written?.begin?.memory != null && (
            <>
              <span class="number">
                memory: {whole(memory ?? 0)} of {whole(written.begin.memory)} steps
              </span>
              <Toggle label="read on after the last text" on={keepMemory} onChange={setKeepMemory} />
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  setKeepMemory(false);
                  setWritten(undefined);
                }}
              >
                Clear memory
              </button>
            </>
          )}
        </div>
      </form>
      <Fault error={error} />
      {written && <Text written={written} at={at} onShow={setAt} />}
    </>
  );
}

function extended(now: Written, line: GenerateLine): Written {
  if (line.type === "error") throw new ServerError(line.error.message, line.error.remedy);
  if (line.type === "token") return { ...now, tokens: [...now.tokens, line] };
  return line.type === "begin" ? { ...now, begin: line } : { ...now, end: line };
}

/** The lines of an answer as they come; ends quietly when it is stopped. */
async function* linesOf<T>(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<T> {
  try {
    const response = await request("POST", path, body, signal);
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "") yield JSON.parse(line) as T;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface TextProps {
  readonly written: Written;
  readonly at: number | undefined;
  readonly onShow: (index: number | undefined) => void;
}

function Text({ written, at, onShow }: TextProps) {
  const { tokens, begin, end, prompt } = written;
  const cap = begin?.cap ?? null;
  const token = at === undefined ? undefined : tokens[at];
  const depth = ({ depth }: Token) => (depth === null ? "" : `, depth ${depth}${cap === null ? "" : ` of ${cap}`}`);
  return (
    <Panel title="Text" aside={cap !== null && <DepthScale cap={cap} />}>
      <p class="prose" data-testid="text">
        <span class="muted">{prompt}</span>
        {tokens.map(({ text }) => text).join("")}
      </p>
      <Pieces
        label="Tokens with their probabilities"
        cap={cap}
        pieces={tokens.map((each) => ({
          text: each.piece,
          depth: each.depth,
          under: `${Math.round(100 * each.probability)} %${each.depth === null ? "" : ` · ${each.depth}`}`,
          label: `probability ${percent(each.probability, 1)}${depth(each)}`,
        }))}
        onShow={onShow}
      />
      <p class="detail number">
        {token
          ? `${token.piece.replaceAll("▁", " ")}: probability ${percent(token.probability, 1)}${depth(token)}`
          : "Under each token: its probability, and its depth where tokens halt by themselves."}
      </p>
      {end && (
        <Facts
          facts={[
            ["tokens", whole(end.tokens)],
            ["tokens per second", figure(end.tokensPerSecond)],
            [
              "mean probability",
              percent(tokens.reduce((sum, each) => sum + each.probability, 0) / Math.max(1, tokens.length), 1),
            ],
          ]}
        />
      )}
    </Panel>
  );
}

/** A text and a button; what comes back is shown below. */
function Form(props: {
  label: string;
  text: string;
  button: string;
  busy: boolean;
  onText: (text: string) => void;
  onSubmit: () => void;
  children?: preact.ComponentChildren;
}) {
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSubmit();
      }}
    >
      <TextField label={props.label} rows={3} value={props.text} onText={props.onText} />
      {props.children}
      <button type="submit" class="primary" disabled={props.busy}>
        {props.button}
      </button>
    </form>
  );
}

/** Asks when a button is pressed, and, in a saved page, at once. */
function useAnswer<T>(path: string, body: unknown) {
  const [answer, setAnswer] = useState<T>();
  const { busy, error, run } = useAction();
  const ask = () => run(async () => setAnswer(await post<T>(path, body)));
  useEffect(() => {
    if (saved) ask();
  }, []);
  return { answer, busy, error, ask };
}

const setText = (text: string) => setQuery({ text });

function Translate({ row }: { readonly row: RunRow }) {
  const text = asked("text", "A man is riding a bicycle.");
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const beam = number("beam");
  const { answer, busy, error, ask } = useAnswer<TranslateAnswer>(
    pathOf(row, "translate"),
    beam === undefined ? { lines } : { lines, beam },
  );
  return (
    <>
      <Form label="Sentences, one per line" text={text} button="Translate" busy={busy} onText={setText} onSubmit={ask}>
        <div class="controls">
          <NumberField name="beam" label="Beam" placeholder="default" min={1} step="1" />
        </div>
      </Form>
      <Fault error={error} />
      {answer && (
        <Panel title="Translation">
          <ol class="prose">
            {answer.translations.map((line, i) => (
              <li key={i}>{line}</li>
            ))}
          </ol>
        </Panel>
      )}
    </>
  );
}

function Fill({ row }: { readonly row: RunRow }) {
  const text = asked("text", "The cat sat on the [MASK].");
  const { answer, busy, error, ask } = useAnswer<FillAnswer>(pathOf(row, "fill"), { text });
  return (
    <>
      <Form label="Text with [MASK]" text={text} button="Fill" busy={busy} onText={setText} onSubmit={ask} />
      <Fault error={error} />
      {answer?.masks.map(({ guesses, depth }, i) => (
        <Panel key={i} title={`Mask ${i + 1}${depth === null ? "" : `, depth ${depth}`}`}>
          <Bars
            rows={guesses.map((each) => ({
              name: each.piece.replaceAll("▁", " "),
              fraction: each.probability,
              text: percent(each.probability, 1),
            }))}
          />
        </Panel>
      ))}
    </>
  );
}

function Classify({ row }: { readonly row: RunRow }) {
  const [text, second] = [asked("text", "A film that is warm and funny."), asked("second")];
  const body = second === "" ? { text } : { text, second };
  const { answer, busy, error, ask } = useAnswer<ClassifyAnswer>(pathOf(row, "classify"), body);
  const depths = answer?.depths ?? [];
  const cap = Math.max(1, ...depths.map(({ depth }) => depth));
  return (
    <>
      <Form label="Text" text={text} button="Classify" busy={busy} onText={setText} onSubmit={ask}>
        <TextField
          label="Second text, for tasks on pairs"
          value={second}
          onText={(text) => setQuery({ second: text })}
        />
      </Form>
      <Fault error={error} />
      {answer && (
        <Panel title={`${answer.task}: ${answer.label}`}>
          <Bars
            rows={Object.entries(answer.scores).map(([name, score]) => ({
              name,
              fraction: score,
              text: percent(score, 1),
            }))}
            empty={figure(Number(answer.label))}
          />
          {depths.length > 0 && (
            <Pieces
              label="Pieces with their depths"
              cap={cap}
              pieces={depths.map(({ piece, depth }) => ({ text: piece, depth, label: `depth ${depth}` }))}
              onShow={() => {}}
            />
          )}
        </Panel>
      )}
    </>
  );
}
