/** The studio's page: navigation, the view that the address names, and what is said to screen readers. */
import { type ComponentType, render } from "preact";
import "./styles/style.css";
import { about, connect, connection, failure, newest } from "./data/live.ts";
import { href, route } from "./data/route.ts";
import { savePage } from "./data/save.ts";
import { saved } from "./data/server.ts";
import { Shell } from "./parts/shell.tsx";
import { Empty, Fault, Heading } from "./parts/ui.tsx";
import { CompareView } from "./views/compare.tsx";
import { DepthView } from "./views/depth.tsx";
import { NewView } from "./views/new.tsx";
import { PlayView } from "./views/play.tsx";
import { RunView } from "./views/run.tsx";
import { RunsView } from "./views/runs.tsx";
import { SearchView } from "./views/search.tsx";
import { SharingView } from "./views/sharing.tsx";
import { SweepView } from "./views/sweep.tsx";

const VIEWS: Readonly<Record<string, ComponentType>> = {
  runs: RunsView,
  run: () => <RunView />,
  latest: LatestRun,
  compare: CompareView,
  search: SearchView,
  depth: DepthView,
  play: PlayView,
  sharing: SharingView,
  sweep: SweepView,
  new: NewView,
};

const NAVIGATION = [
  ["runs", "Runs"],
  ["latest", "Latest run"],
  ["search", "Search"],
  ["depth", "Depth"],
  ["play", "Play"],
  ["sharing", "Sharing"],
  ["sweep", "Sweep"],
  ["new", "New"],
] as const;

/** The run that changed last, whichever that is. */
function LatestRun() {
  const latest = newest.value.find(({ status }) => status !== "foreign" && status !== "damaged");
  return latest ? <RunView id={latest.id} /> : <NoRuns />;
}

const Nowhere = ({ view }: { readonly view: string }) => (
  <>
    <Heading title="Nothing here" />
    <Empty title={`There is no view called ${view}`}>
      <a href={href("runs")}>All runs</a>
    </Empty>
  </>
);

function NoRuns() {
  if (connection.value === "waiting") return <p class="muted">Reading runs …</p>;
  return (
    <>
      <Heading title="Latest run" />
      <Empty title="No runs yet" commands={["layerwise train --preset tiny"]} />
    </>
  );
}

function Page() {
  const { view } = route.value;
  const View = VIEWS[view];
  const title = titleOf(view);
  const links = NAVIGATION.map(([name, text]) => ({ name, text, href: href(name), isCurrent: isCurrent(name, view) }));
  return (
    <Shell page="studio" title={title} home={href("runs")} label="Views" links={links} end={<BarEnd title={title} />}>
      <Fault error={failure.value} />
      {View ? <View /> : <Nowhere view={view} />}
    </Shell>
  );
}

const BarEnd = ({ title }: { readonly title: string }) => (
  <>
    <Connection />
    {!saved && <a href="./playground/">Playground</a>}
    {!saved && (
      <button type="button" class="quiet" onClick={() => void savePage(location.hash, `layerwise ${title}`)}>
        Save as HTML
      </button>
    )}
  </>
);

const titleOf = (view: string) =>
  NAVIGATION.find(([name]) => name === view)?.[1] ?? (view === "compare" ? "Compare" : "Run");
const isCurrent = (name: string, view: string) =>
  name === view || (name === "runs" && (view === "run" || view === "compare"));

function Connection() {
  if (saved) return <span class="connection">saved {saved.date.slice(0, 16).replace("T", " ")}</span>;
  const text = { waiting: "connecting", live: "live", lost: "no connection", saved: "" }[connection.value];
  return (
    <span class={`connection ${connection.value}`} title={about.value?.folder}>
      {text}
    </span>
  );
}

connect();
render(<Page />, document.getElementById("app")!);
