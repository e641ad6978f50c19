/** What stands around every view: the bar with the navigation, the place of the content, and what is said to screen readers. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announced } from "./announce.ts";

/** A view that can be gone to. */
export interface ShellLink {
  readonly name: string;
  readonly text: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

interface ShellOptions {
  /** Of the page: studio or playground. */
  readonly page: string;
  /** Of the view, for the browser's tab. */
  readonly title: string;
  readonly home: string;
  /** What the links lead to. */
  readonly label: string;
  readonly links: readonly ShellLink[];
  /** At the end of the bar. */
  readonly end: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Shell({ page, title, home, label, links, end, children }: ShellOptions) {
  useEffect(() => {
    document.title = `${title} · layerwise ${page}`;
    // On a phone the navigation is wider than the screen.
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [title]);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("content")?.focus()}>
        Skip to content
      </button>
      <header class="bar">
        <a class="brand" href={home}>
          <Mark />
          layerwise <span>{page}</span>
        </a>
        <nav aria-label={label}>
          {links.map(({ name, text, href, isCurrent }) => (
            <a key={name} href={href} aria-current={isCurrent ? "page" : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <div class="bar-end">{end}</div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <p class="sr-only" role="status" aria-live="polite">
        {announced.value}
      </p>
    </>
  );
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
