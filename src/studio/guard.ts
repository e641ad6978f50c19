/** Who may ask: the Host and Origin of a request, the token that becomes a cookie, and headers that bind the page to this server. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Context, MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { cacheFile } from "./glance-cache.ts";
import { Refusal } from "./refusal.ts";

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/** What is let through. */
export interface GuardOptions {
  /** Null: everybody who reaches the server may ask. */
  readonly token: string | null;
  /** A name besides those of the loopback. */
  readonly host: string | undefined;
}

const parsed = (url: string) => {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
};

/** The Host header as a URL has it; a name that is not one, or hides another part of a URL, is none. */
function hostOf(context: Context): URL | undefined {
  const given = context.req.header("host") ?? "";
  return /^[\w.:[\]-]+$/.test(given) ? parsed(`http://${given}`) : undefined;
}

/** Refuses requests to other names (DNS rebinding) and from other pages. */
export function checkSource({ host }: GuardOptions): MiddlewareHandler {
  const known = new Set([...LOOPBACK, ...(host === undefined ? [] : [parsed(`http://${host}`)?.hostname ?? host])]);
  return async (context, next) => {
    const asked = hostOf(context);
    if (!asked || !known.has(asked.hostname)) throw new Refusal(421, "forbidden", "this server has another name");
    const origin = context.req.header("origin");
    if (origin !== undefined && (parsed(origin)?.host !== asked.host || !origin.startsWith("http")))
      throw new Refusal(403, "forbidden", "the request comes from another page");
    await next();
  };
}

const same = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const digest = (text: string) => createHash("sha256").update(text).digest("hex");
/** Compared by their digests, so that neither length nor bytes of any kind matter. */
const isToken = (given: string | undefined, token: string) => given !== undefined && same(digest(given), digest(token));

/** Cookies know no ports, so the name does. */
function cookieName(context: Context): string {
  return `layerwise-${hostOf(context)?.port || "80"}`;
}

function cookieOf(context: Context): string | undefined {
  const name = `${cookieName(context)}=`;
  const cookies = (context.req.header("cookie") ?? "").split(/;\s*/);
  return cookies.find((each) => each.startsWith(name))?.slice(name.length);
}

/** Exchanges a token in the URL for a cookie, and forgets it: the address that stays has none. */
export function exchangeToken({ token }: GuardOptions): MiddlewareHandler {
  return async (context, next) => {
    const url = new URL(context.req.url);
    if (!url.searchParams.has("token") || url.pathname.startsWith("/api/")) return next();
    if (token !== null) {
      if (!isToken(url.searchParams.get("token")!, token))
        throw new Refusal(401, "forbidden", "a token of another run");
      context.header("set-cookie", `${cookieName(context)}=${token}; HttpOnly; SameSite=Strict; Path=/`);
    }
    url.searchParams.delete("token");
    return context.redirect(`${url.pathname.replace(/^\/+/, "/")}${url.search}`);
  };
}

/** Refuses requests without the cookie, and bodies that a form of another page could send. */
export function checkToken({ token }: GuardOptions): MiddlewareHandler {
  return async (context, next) => {
    if (token !== null && !isToken(cookieOf(context), token))
      throw new Refusal(401, "forbidden", "open the address that `layerwise studio` printed: it holds a token");
    const { method } = context.req;
    const type = context.req.header("content-type") ?? "";
    if (method !== "GET" && method !== "HEAD" && !/^application\/json\s*(;|$)/.test(type))
      throw new Refusal(415, "bad-option", "expected content-type application/json");
    await next();
  };
}

/** Headers of every answer. */
export const headers = (): MiddlewareHandler =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'", "'wasm-unsafe-eval'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      connectSrc: ["'self'"],
      workerSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
    crossOriginEmbedderPolicy: "require-corp",
    crossOriginOpenerPolicy: "same-origin",
    xFrameOptions: "DENY",
    referrerPolicy: "no-referrer",
    strictTransportSecurity: false,
  });

const TOKEN = /^[\w-]{32}$/;

/** The token of a folder: made once, kept in the user's cache for this user alone. */
export function keptToken(folder: string): string {
  const file = cacheFile(folder, "token");
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const kept = readToken(file);
  if (kept !== undefined) return kept;
  const token = randomBytes(24).toString("base64url");
  writeFileSync(file, token, { mode: 0o600 });
  chmodSync(file, 0o600);
  return token;
}

function readToken(file: string): string | undefined {
  try {
    const token = readFileSync(file, "utf8");
    chmodSync(file, 0o600);
    return TOKEN.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}
