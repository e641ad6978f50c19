import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ServedStudio, serveStudio } from "./server.ts";

/** Every path that the server's code opens, lists or asks about, and what replaces a module so that it says them. */
const { opened, recording } = vi.hoisted(() => {
  const opened = new Set<string>();
  const watched = /^(open|read|readdir|stat|exists|access|write|append|rm|mkdir|rename)(File|)(Sync|)$/;
  const recorded = (value: unknown) =>
    function record(...args: unknown[]) {
      if (typeof args[0] === "string") opened.add(args[0]);
      return (value as (...all: unknown[]) => unknown)(...args);
    };
  const recording = async (original: () => Promise<object>) => {
    const found = Object.entries(await original());
    return Object.fromEntries(found.map(([name, value]) => [name, watched.test(name) ? recorded(value) : value]));
  };
  return { opened, recording };
});
vi.mock("node:fs", recording);
vi.mock("node:fs/promises", recording);

const top = realpathSync(mkdtempSync(join(tmpdir(), "layerwise-studio-")));
const folder = join(top, "runs");
const root = fileURLToPath(new URL("../../", import.meta.url));
const said: string[] = [];
let served: ServedStudio;
let cookie: string;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | undefined;
}

/** Unlike fetch it sends paths and hosts as they are. */
function ask(path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const made = request({ port: served.port, host: "127.0.0.1", path, method, headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text = `${text}${part}`));
      answer.on("end", () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
    });
    // A kept connection may have been closed by the server while the request was on its way.
    made.on("error", (error) => (made.reusedSocket ? resolve(ask(path, { method, headers, body })) : reject(error)));
    if (body !== undefined) made.setHeader("content-length", Buffer.byteLength(body));
    made.end(body);
  });
}

const json = { "content-type": "application/json" };
const allowed = (path: string, asked: Asked = {}) => ask(path, { ...asked, headers: { cookie, ...asked.headers } });
const post = (path: string, body: unknown) =>
  allowed(path, { method: "POST", headers: json, body: JSON.stringify(body) });

beforeAll(async () => {
  vi.stubEnv("XDG_CACHE_HOME", join(top, "cache"));
  for (const place of ["runs/one", "runs/two", "outside"]) mkdirSync(join(top, place), { recursive: true });
  writeFileSync(join(folder, "one", "config.yaml"), "task: language\nsteps: 5\nrate: 0.1\n");
  writeFileSync(join(folder, "two", "config.yaml"), "task: language\nsteps: 5\nrate: 0.2\n");
  writeFileSync(join(top, "outside", "config.yaml"), "task: language\nsecret: 1\n");
  const page = join(top, "page");
  mkdirSync(page);
  writeFileSync(join(page, "index.html"), "<!doctype html>");
  mkdirSync(join(page, "playground"));
  writeFileSync(join(page, "playground", "index.html"), "<!doctype html><title>playground</title>");
  served = await serveStudio({ folder, port: 0, page, say: (text) => said.push(text) });
  const { headers } = await ask(new URL(served.url).search.replace("?", "/?"));
  cookie = headers["set-cookie"]![0]!.split(";")[0]!;
});
afterAll(async () => {
  await served.close();
  rmSync(top, { recursive: true });
});

const rows = async () =>
  JSON.parse((await allowed("/api/runs")).text).runs as { id: string; path: string; note: string }[];
const idOf = async (path: string) => (await rows()).find((row) => row.path === path)!.id;

describe("who may ask", () => {
  it("exchanges the token for a strict cookie, and shows the page without it", async () => {
    const { status, headers } = await ask(new URL(served.url).search.replace("?", "/?"));
    expect([status, headers.location]).toEqual([302, "/"]);
    expect(headers["set-cookie"]![0]).toMatch(/^layerwise-\d+=[\w-]{32}; HttpOnly; SameSite=Strict; Path=\/$/);
    expect((await ask("/?token=wrong")).status).toBe(401);
  });

  it("keeps the token of a folder for this user alone, outside the runs", async () => {
    const again = await serveStudio({ folder, port: 0 });
    expect(new URL(again.url).search).toBe(new URL(served.url).search);
    await again.close();
    const file = [...opened].find((path) => path.endsWith(".token"))!;
    expect(file.startsWith(join(top, "cache"))).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.each(["evil.example", "127.0.0.1.evil.example", "[::2]", "0.0.0.0"])(
    "answers 421 to the host %s, with the cookie too",
    async (host) => {
      expect((await allowed("/api/runs", { headers: { host } })).status).toBe(421);
      expect((await allowed("/", { headers: { host } })).status).toBe(421);
    },
  );

  it.each(["localhost@evil.example", "evil.example/127.0.0.1", "localhost#x", "127.0.0.1:1.evil.example"])(
    "refuses the host %s",
    async (host) => {
      expect([400, 421]).toContain((await allowed("/api/runs", { headers: { host } })).status);
    },
  );

  it.each(["localhost:1", "127.0.0.1", "[::1]:4700"])("answers to the host %s", async (host) => {
    expect((await ask("/", { headers: { host } })).status).toBe(200);
  });

  it("answers 401 without the cookie and with another", async () => {
    expect((await ask("/api/runs")).status).toBe(401);
    expect((await ask("/api/runs", { headers: { cookie: `${cookie}x` } })).status).toBe(401);
    expect((await ask(`/api/runs${new URL(served.url).search}`)).status).toBe(401);
  });

  it.each(["https://evil.example", "null", "http://127.0.0.1:1"])("answers 403 to the origin %s", async (origin) => {
    expect((await allowed("/api/runs", { headers: { origin } })).status).toBe(403);
  });

  it("takes its own origin, and no form's body", async () => {
    const origin = `http://127.0.0.1:${served.port}`;
    expect((await allowed("/api/runs", { headers: { origin } })).status).toBe(200);
    const form = { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" };
    expect((await allowed("/api/start", form)).status).toBe(415);
  });

  it("serves a folder's own page, and itself at every other address", async () => {
    expect((await ask("/playground/")).text).toContain("playground");
    for (const path of ["/", "/anywhere", "/playground/nowhere/"])
      expect((await ask(path)).text).toBe("<!doctype html>");
  });

  it("sends the headers that bind a page to it", async () => {
    const { headers } = await ask("/");
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
    });
  });

  it("adds the name of --host, and refuses it without a token", async () => {
    await expect(serveStudio({ folder, port: 0, host: "localhost", token: false })).rejects.toThrow(
      "a token where others",
    );
    const named = await serveStudio({ folder, port: 0, host: "localhost" });
    expect(named.url).toMatch(/^http:\/\/localhost:\d+\/\?token=/);
    await named.close();
  });
});

describe("requests that are none", () => {
  const paths = [
    "/../outside/config.yaml",
    "/..%2foutside%2fconfig.yaml",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/./../package.json",
    "/page.js/../../outside/config.yaml",
    "/..\\outside\\config.yaml",
    "/%00/config.yaml",
  ];
  const ids = ["../outside", "..%2foutside", "%2e%2e%2foutside", "one", "/etc", "....//outside", "a".repeat(5000)];

  it.each(paths)("does not lead out by %s", async (path) => {
    const { text, status } = await ask(path);
    expect(text).not.toMatch(/secret|root:|"name"/);
    expect([200, 400, 404]).toContain(status); // 200 is the page itself
  });

  it.each(ids)("knows no run by %s", async (id) => {
    for (const rest of ["", "/series", "/search"]) {
      expect((await allowed(`/api/runs/${id}${rest}`)).status).toBe(404);
    }
    expect((await allowed(`/api/runs/${id}/note`, { method: "PUT", headers: json, body: '{"note":"x"}' })).status).toBe(
      404,
    );
  });

  it.each(["../outside", "/etc", "runs/one", "sf/../../outside", "constructor"])(
    "takes %s for no pattern to train",
    async (pattern) => {
      opened.clear();
      const answer = await post("/api/dry-run", { task: "retrain", pattern });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("pattern")]);
      expect([...opened].filter((each) => each.includes("outside") || each.startsWith("/etc"))).toEqual([]);
    },
  );

  it.each([{ name: "../x" }, { name: ".x" }, { name: "a/b" }, { settings: { init: "../outside" } }, { into: "/tmp" }])(
    "starts nothing for %j",
    async (given) => {
      expect((await post("/api/start", { task: "language", ...given })).status).toBe(400);
    },
  );

  it("refuses bodies that are too large", async () => {
    expect((await post("/api/start", { task: "language", preset: "x".repeat(70_000) })).status).toBe(413);
  });

  it("opens nothing outside the folder in 1,000 of any kind, and logs what it refuses", async () => {
    const id = await idOf("one");
    opened.clear();
    const before = said.length;
    const part = fc.oneof(
      fc.constantFrom(
        "api",
        "runs",
        id,
        "series",
        "search",
        "note",
        "..",
        "%2e%2e",
        "%2f",
        "outside",
        "stop",
        "compare",
      ),
      fc.string({ maxLength: 8 }).map(encodeURIComponent),
    );
    const path = fc.tuple(fc.array(part, { maxLength: 7 }), fc.webQueryParameters()).map(([parts, query]) => {
      return `/${parts.join("/")}${query ? `?${query}` : ""}`;
    });
    const method = fc.constantFrom("GET", "GET", "POST", "PUT", "DELETE", "OPTIONS");
    const body = fc.oneof(fc.json(), fc.string({ maxLength: 50 }));
    const counts: Record<number, number> = {};
    await fc.assert(
      fc.asyncProperty(path, method, body, fc.boolean(), async (where, how, text, known) => {
        if (where.includes("/events") || /^\/api\/(start|dry-run)/.test(where)) return;
        const headers = { ...json, ...(known ? { cookie } : {}) };
        const { status } = await ask(where, { method: how, headers, body: how === "GET" ? undefined : text });
        counts[status] = (counts[status] ?? 0) + 1;
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 1000 },
    );
    const places = [folder, join(top, "page"), root, join(top, "cache", "layerwise", "studio")]; // the last is its own
    expect(
      [...opened].filter((each) => !places.some((place) => each === place || each.startsWith(`${place}/`))),
    ).toEqual([]);
    const refused = Object.entries(counts).reduce(
      (sum, [status, count]) => sum + (Number(status) >= 400 ? count : 0),
      0,
    );
    expect(refused).toBeGreaterThan(300);
    expect(said.slice(before).filter((line) => line.startsWith("refused"))).toHaveLength(refused);
  });
});

describe("what may be written", () => {
  it("keeps notes in run folders, and removes empty ones", async () => {
    const id = await idOf("one");
    const note = async (text: string) =>
      allowed(`/api/runs/${id}/note`, { method: "PUT", headers: json, body: JSON.stringify({ note: text }) });
    expect((await note("better than two")).status).toBe(200);
    expect((await rows())[0]).toMatchObject({ path: "one", note: "better than two" });
    await note("");
    expect((await rows())[0]!.note).toBe("");
  });

  it("says in which settings runs differ", async () => {
    const { text } = await allowed(`/api/compare?ids=${await idOf("one")},${await idOf("two")}`);
    expect(JSON.parse(text).differences).toEqual({ rate: [0.1, 0.2] });
  });

  it("shows damaged and foreign folders as such, with what is wrong", async () => {
    for (const name of ["broken", "other"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "broken", "config.yaml"), "{ not yaml");
    writeFileSync(join(folder, "other", "weights.bin"), "");
    const { runs } = JSON.parse((await allowed("/api/runs")).text);
    const found = runs.filter(({ path }: { path: string }) => ["broken", "other"].includes(path));
    expect(found).toMatchObject([
      { status: "damaged", fault: expect.stringContaining("config.yaml"), uses: [] },
      { status: "foreign", fault: "not a run: it has no config.yaml", uses: [] },
    ]);
    expect((await allowed(`/api/runs/${found[0].id}`)).status).toBe(200);
  });

  it("refuses to stop what does not run, and a process that only a copied lock names", async () => {
    const id = await idOf("two");
    const stop = () => allowed(`/api/runs/${id}/stop`, { method: "POST", headers: json });
    expect((await stop()).status).toBe(409);
    const { hostname } = await import("node:os");
    const lock = { pid: process.pid, host: hostname(), started: null, token: "x" };
    writeFileSync(join(folder, "two", "lock"), JSON.stringify(lock));
    expect((await stop()).status).toBe(process.platform === "linux" ? 409 : 202);
  });
});
