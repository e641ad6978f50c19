/** Requests to the studio's server. In a page saved to disk the answers come out of the page itself. */
import type { ApiError } from "../../src/studio/api.ts";

/** A refusal, or no answer at all, as a sentence. */
export class ServerError extends Error {
  readonly remedy: string | undefined;

  constructor(message: string, remedy?: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** What a saved page holds: its place and the answers it was made of. */
export interface Saved {
  readonly hash: string;
  readonly date: string;
  readonly answers: Readonly<Record<string, unknown>>;
}

const element = document.getElementById("saved");
/** The data inside a page that was saved; undefined where there is a server. */
export const saved: Saved | undefined = element ? (JSON.parse(element.textContent ?? "") as Saved) : undefined;

/** The answers that the present view was made of, by request: what "save" writes. */
const answers = new Map<string, unknown>();

/** Forgets what another view asked for; the list of runs serves all views. */
export function forget(): void {
  for (const key of answers.keys()) if (!KEPT.has(key)) answers.delete(key);
}

const KEPT = new Set(["GET /api/runs", "GET /api/about"]);

export const recorded = (): Record<string, unknown> => Object.fromEntries(answers);
/** Puts what came live into the place of what was answered, so that a saved page shows it. */
export const record = (request: string, answer: unknown): void => void answers.set(request, answer);

export const get = <T>(path: string): Promise<T> => ask<T>("GET", path);
export const post = <T>(path: string, body?: unknown): Promise<T> => ask<T>("POST", path, body);
export const put = <T>(path: string, body: unknown): Promise<T> => ask<T>("PUT", path, body);

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const key = `${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
  if (saved) return fromPage<T>(key);
  const response = await request(method, path, body);
  const answer = (await response.json()) as T;
  answers.set(key, answer);
  return answer;
}

function fromPage<T>(key: string): T {
  if (saved && key in saved.answers) return saved.answers[key] as T;
  throw new ServerError("This is a saved page: it holds only what was shown when it was saved.");
}

/** Sends a request; a refusal becomes an error with the server's sentence. */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  signal: AbortSignal | null = null,
): Promise<Response> {
  if (saved) throw new ServerError("This is a saved page: there is no server behind it.");
  // Whatever changes something says that it is JSON: a form of another page cannot.
  const headers = { "content-type": "application/json" };
  const sent = method === "GET" ? { method, signal } : { method, signal, headers, body: JSON.stringify(body ?? {}) };
  const response = await fetch(path, sent).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ServerError("The studio's server does not answer.", "Start it again with `layerwise studio`.");
  });
  if (response.ok) return response;
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ServerError> {
  const told = (await response.json().catch(() => undefined)) as ApiError | undefined;
  if (told?.error) return new ServerError(told.error.message, told.error.remedy);
  if (response.status === 401)
    return new ServerError(
      "The server does not know this browser.",
      "Open the address that `layerwise studio` printed.",
    );
  return new ServerError(`The server answered ${response.status} ${response.statusText}.`);
}
