/** The playground: three exhibits that train in a worker of this page, with nothing to install and nothing sent anywhere. */
import { effect } from "@preact/signals";
import { type ComponentType, render } from "preact";
import "../styles/style.css";
import "./playground.css";
import { Shell } from "../parts/shell.tsx";
import { EXHIBITS, exhibit, hrefOf, sample } from "./address.ts";
import { AdaptView, SearchView, ShareView } from "./exhibits.tsx";
import type { Exhibit } from "./protocol.ts";
import { runsOf, text } from "./runs.ts";
import { doing, engine, fault, isTraining, kept, start, train, wasLeft } from "./training.ts";

const VIEWS: Readonly<Record<Exhibit, ComponentType>> = { share: ShareView, search: SearchView, adapt: AdaptView };
const titleOf = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

function Page() {
  const View = VIEWS[exhibit.value];
  const title = titleOf(exhibit.value);
  const links = EXHIBITS.map((name) => {
    return { name, text: titleOf(name), href: hrefOf(name), isCurrent: name === exhibit.value };
  });
  return (
    <Shell page="playground" title={title} home={hrefOf("share")} label="Exhibits" links={links} end={<Engine />}>
      {engine.value?.notice && <p class="notice">This page trains on {engine.value.notice}.</p>}
      <View key={exhibit.value} />
    </Shell>
  );
}

function Engine() {
  const { value } = engine;
  const threads = value?.threads === 1 ? "1 thread" : `${value?.threads} threads`;
  return <span class={`connection ${value ? "live" : "waiting"}`}>{value ? threads : "loading"}</span>;
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
render(<Page />, document.getElementById("app")!);
