/** Processes that the studio started and that are no runs yet, or failed to become one. */
import type { JobState } from "../../src/studio/api.ts";
import { href } from "../data/route.ts";

/** Those that open, and those that failed; running ones are in the table. */
export function Jobs({ jobs }: { readonly jobs: readonly JobState[] }) {
  const told = jobs.filter(({ state }) => state === "opening" || state === "failed");
  if (told.length === 0) return null;
  return (
    <ul class="jobs">
      {told.map((job) => (
        <li key={job.id} class={job.state}>
          <JobLine job={job} />
        </li>
      ))}
    </ul>
  );
}

/** What a process is at, in a line. */
export function JobLine({ job }: { readonly job: JobState }) {
  const state = { opening: "reads data and compiles", running: "runs", ended: "has ended", failed: "failed" }[
    job.state
  ];
  return (
    <>
      <p>
        <b>{job.path}</b> {state}
        {job.run && (
          <>
            : <a href={href("run", job.run)}>watch it</a>
          </>
        )}
      </p>
      {job.state === "failed" && <pre>{job.said}</pre>}
    </>
  );
}
