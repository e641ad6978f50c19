/** The place in the page: a view, perhaps a run, and everything else that fixes it, all in the address after `#`. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { forget, saved } from "./server.ts";

export interface Route {
  readonly view: string;
  /** The run, for views of one. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** `#/run/ID?x=tokens` → its parts. */
export function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", id = ""] = path.split("/");
  return { view: view || "runs", id: decodeURIComponent(id), query: new URLSearchParams(query) };
}

/** The address of a view; what is undefined or empty is left out. */
export function href(view: string, id = "", query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const text = new URLSearchParams(given).toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${text ? `?${text}` : ""}`;
}

export const route = signal(parsed(saved?.hash ?? location.hash));

addEventListener("hashchange", () => {
  const next = parsed(location.hash);
  if (next.view !== route.peek().view || next.id !== route.peek().id) forget();
  route.value = next;
});

/** Goes to another view. */
export function go(address: string): void {
  location.hash = address;
}

/** Changes parts of the present view's address, without a new entry in the history. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { view, id, query } = route.peek();
  replace(href(view, id, { ...Object.fromEntries(query), ...changes }));
}

/** The run of the address; without one the first of these, which the address then names, so that a newer one does not take its place. */
export function useShown(able: readonly { readonly id: string }[]): string {
  const { view, id: named, query } = route.value;
  const id = named || able[0]?.id || "";
  useEffect(() => {
    if (named === "" && id !== "") replace(href(view, id, Object.fromEntries(query)));
  }, [named, id]);
  return id;
}

function replace(address: string): void {
  try {
    history.replaceState(null, "", address);
  } catch {
    // a page opened from disk may not change its address
  }
  route.value = parsed(address);
}

/** A part of the address, `otherwise` where it is absent. */
export const asked = (name: string, otherwise = ""): string => route.value.query.get(name) ?? otherwise;
