/** What the reader has: dark colours, less motion, so many pixels. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

function preference(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const value = signal(list.matches);
  list.addEventListener("change", () => {
    value.value = list.matches;
  });
  return value;
}

export const darkMode = preference("(prefers-color-scheme: dark)");
export const reducedMotion = preference("(prefers-reduced-motion: reduce)");

/** The width of an element, as it changes. */
export function useWidth(host: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return width;
}
