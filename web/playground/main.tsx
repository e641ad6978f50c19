/** The playground: three exhibits that train in a worker of this page, with nothing to install and nothing sent anywhere. */
import { effect } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { useEffect } from "preact/hooks";
import "../styles/style.css";
import "./playground.css";
import { announced } from "../parts/announce.ts";
import { EXHIBITS, exhibit, hrefOf, sample } from "./address.ts";
import { AdaptView, SearchView, ShareView } from "./exhibits.tsx";
import type { Exhibit } from "./protocol.ts";
import { runsOf, text } from "./runs.ts";
import { doing, engine, fault, isTraining, kept, start, train, wasLeft } from "./training.ts";

const VIEWS: Readonly<Record<Exhibit, ComponentType>> = { share: ShareView, search: SearchView, adapt: AdaptView };
const titleOf = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

function Shell() {
  const View = VIEWS[exhibit.value];
  const title = titleOf(exhibit.value);
  useEffect(() => {
    document.title = `${title} · layerwise playground`;
  }, [title]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("content")?.focus()}>
        Skip to content
      </button>
      <header class="bar">
        <a class="brand" href={hrefOf("share")}>
          <Mark />
          layerwise <span>playground</span>
        </a>
        <nav aria-label="Exhibits">
          {EXHIBITS.map((name) => (
            <a key={name} href={hrefOf(name)} aria-current={name === exhibit.value ? "page" : undefined}>
              {titleOf(name)}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          <Engine />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {engine.value?.notice && <p class="notice">This page trains on {engine.value.notice}.</p>}
        <View key={exhibit.value} />
      </main>
      <p class="sr-only" role="status" aria-live="polite">
        {announced.value}
      </p>
    </>
  );
}

function Engine() {
  const { value } = engine;
  const threads = value?.threads === 1 ? "1 thread" : `${value?.threads} threads`;
  return <span class={`connection ${value ? "live" : "waiting"}`}>{value ? threads : "loading"}</span>;
}

function Mark() {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path class="series-2" d="M3 5h14" />
      <path class="series-1" d="M3 10h9" />
      <path class="series-0" d="M3 15h5" />
    </svg>
  );
}

/** A run that was cut off, because its tab was closed, goes on by itself; one that was stopped waits. */
function goOn(): void {
  const end = effect(() => {
    if (!engine.value || !text.value) return;
    queueMicrotask(() => end());
    const wanted = runsOf(exhibit.value);
    const known = wanted.map(({ name }) => kept.value.find((run) => run.name === name)?.status);
    const isCutOff = wanted.some(({ name }) => wasLeft(name));
    const hasEnded = known.every((status) => status === "finished");
    if (!isTraining.peek() && (isCutOff || hasEnded))
      train(wanted, text.value, exhibit.value === "adapt" ? sample.value : undefined);
  });
}

start().catch((error: unknown) => {
  [fault.value, doing.value] = [`The texts of this page could not be loaded: ${error}`, undefined];
});
goOn();
render(<Shell />, document.getElementById("app")!);
