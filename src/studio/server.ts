/** The studio's server: the guard before everything, the API, and the files of the page. */
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { LayerwiseError, reject } from "../base/errors.ts";
import type { Handed } from "../tasks/job.ts";
import { Feed } from "./feed.ts";
import { checkSource, checkToken, exchangeToken, headers, keptToken } from "./guard.ts";
import { Refusal, refusalOf } from "./refusal.ts";
import { apiRoutes } from "./routes.ts";
import { Studio } from "./studio.ts";

/** A studio that is being served. */
export interface ServedStudio {
  /** With the token, if there is one. */
  readonly url: string;
  readonly port: number;
  /** Ends the server; jobs go on. */
  close(): Promise<void>;
}

/** How the studio is served. */
export interface StudioOptions extends Pick<Handed, "say"> {
  /** Folder of the runs. */
  readonly folder: string;
  /** 0: any free one. Default: 4700, or a free one where it is taken. */
  readonly port?: number | undefined;
  /** A name of this machine under which others reach it. Default: this machine only. */
  readonly host?: string | undefined;
  /** False: whoever reaches it may ask. Only for this machine. */
  readonly token?: boolean | undefined;
  /** How the user starts a command. Default: `layerwise`. */
  readonly command?: string | undefined;
  /** Where the files of the page lie. Default: as the package ships them. */
  readonly page?: string | undefined;
}

const PORT = 4700;
const SMALL = 64 * 1024;
/** A part of a treebank. */
const LARGE = 4 * 1024 * 1024 + SMALL;

/** Where `npm run build` puts the page: dist/studio, seen from src/studio and from dist/studio alike. */
const pageFolder = () => fileURLToPath(new URL("../../dist/studio/page/", import.meta.url));

/** Serves the studio of a folder until it is closed. */
export async function serveStudio(options: StudioOptions): Promise<ServedStudio> {
  const { folder, host, token: wantsToken = true, command = "layerwise", say = () => {} } = options;
  if (host !== undefined && !wantsToken) {
    reject({ who: "studio", needed: "a token where others reach it", got: "--no-token with --host" }, 2);
  }
  const studio = new Studio(folder, say);
  const token = wantsToken ? keptToken(studio.index.folder) : null;
  const feed = new Feed(studio);
  const app = appOf(studio, feed, { token, host, command, page: options.page ?? pageFolder(), say });
  const server = serverOf(app, say);
  await listening(server, options.port, host ?? "127.0.0.1");
  void studio.look();
  const { port } = server.address() as AddressInfo;
  const url = `http://${host ?? "127.0.0.1"}:${port}/${token === null ? "" : `?token=${token}`}`;
  return { url, port, close: () => closed(server, studio, feed) };
}

interface AppOptions {
  readonly token: string | null;
  readonly host: string | undefined;
  readonly command: string;
  readonly page: string;
  readonly say: (text: string) => void;
}

function appOf(studio: Studio, feed: Feed, options: AppOptions): Hono {
  const app = new Hono();
  app.onError((error, context) => refused(context, error, options.say));
  app.notFound((context) => refused(context, new Refusal(404, "not-found", "no such page"), options.say));
  app.use(headers(), checkSource(options), exchangeToken(options));
  app.use("/api/*", checkToken(options), limited());
  app.route("/api", apiRoutes(studio, feed, options.command));
  app.all("/api/*", () => {
    throw new Refusal(404, "not-found", "no such question");
  });
  app.get("/playground", (context) => context.redirect("/playground/"));
  app.get("*", (context) => page(context, options.page));
  return app;
}

function limited() {
  const onError = () => {
    throw new Refusal(413, "too-large", "the request is too large");
  };
  const [small, large] = [bodyLimit({ maxSize: SMALL, onError }), bodyLimit({ maxSize: LARGE, onError })];
  return (context: Context, next: () => Promise<void>) =>
    (context.req.path.endsWith("/depth/table") ? large : small)(context, next);
}

function refused(context: Context, error: unknown, say: AppOptions["say"]): Response {
  const { status, body } = refusalOf(error);
  const { method, path } = context.req;
  const known = error instanceof Refusal || error instanceof LayerwiseError;
  if (!known) say(`studio: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
  say(`refused ${status} ${method} ${JSON.stringify(path.slice(0, 200))}: ${body.error.message.slice(0, 300)}`);
  return context.json(body, status);
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".map": "application/json",
  ".png": "image/png",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};

/** Names of files: no part of one begins with a dot, so that none leads out. */
const FILE = /^\/(?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.[a-z0-9]+$/;

/** A file of the page, or a folder's own page (`/playground/`); every other address is the page itself, which knows what it shows. */
function page(context: Context, folder: string): Response {
  const { path } = context.req;
  const isFile = FILE.test(path);
  if (!isFile && !/^\/[\w/-]*$/.test(path)) throw new Refusal(404, "not-found", "no such page");
  const file = join(folder, isFile ? path : pageAt(folder, path));
  if (!existsSync(file)) return missing(isFile);
  const cache = /-[\w-]{8}\.\w+$/.test(path) ? "max-age=31536000, immutable" : "no-cache";
  return context.body(readFileSync(file), 200, {
    "content-type": types[extname(file)] ?? "application/octet-stream",
    "cache-control": cache,
  });
}

function pageAt(folder: string, path: string): string {
  const own = join(path, "index.html");
  return path.endsWith("/") && existsSync(join(folder, own)) ? own : "index.html";
}

function missing(isFile: boolean): Response {
  if (isFile) throw new Refusal(404, "not-found", "no such file");
  throw new Refusal(404, "not-found", "the page is not built; run `npm run build` and open it again");
}

/** What is no request at all, the library refuses before our own checks see it. */
function serverOf(app: Hono, say: AppOptions["say"]): Server {
  const errorHandler = (error: unknown) => {
    say(`refused 400: ${error instanceof Error ? error.message : error}`);
    return new Response("no request", { status: 400 });
  };
  const server = createServer(getRequestListener(app.fetch, { errorHandler }));
  return server.on("clientError", (error, socket) => {
    say(`refused 400: ${error.message}`);
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
}

async function listening(server: Server, port: number | undefined, hostname: string): Promise<void> {
  try {
    await listen(server, port ?? PORT, hostname);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (port === undefined && code === "EADDRINUSE") return listen(server, 0, hostname);
    const remedy = code === "EADDRINUSE" ? "choose another --port" : "choose another --host";
    return reject({ who: "studio", needed: `to listen at ${hostname}:${port ?? PORT}`, got: `${code}`, remedy });
  }
}

function listen(server: Server, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, rejectWith) => {
    server.once("error", rejectWith);
    server.listen(port, hostname, () => {
      server.off("error", rejectWith);
      resolve();
    });
  });
}

async function closed(server: Server, studio: Studio, feed: Feed): Promise<void> {
  feed.close();
  await studio.close();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
