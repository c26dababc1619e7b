// One middleware for each framework. They are typed by what they use, so that none of the
// frameworks has to be installed.

import {
  checkMiddleware, DENIAL, limitRequest, type KeyOf, type MiddlewareOptions,
} from "./limit_request.js";
import { checkOption, isFunction } from "../options.js";
import type { PlatformRequest, PlatformResponse } from "../platform/fetch_types.js";

const JSON_TYPE = "application/json";

type Keyed<Request> = MiddlewareOptions<Request> & { key: KeyOf<Request> };

// ---- fetch: (request, ...more) => Response ----

type FetchHandler<More extends unknown[]> =
  (request: PlatformRequest, ...more: More) => PlatformResponse | Promise<PlatformResponse>;

/** Wraps a fetch handler: of Workers, Deno.serve, Bun.serve and others. */
export function limitFetch<More extends unknown[]>(
  options: Keyed<PlatformRequest>, handler: FetchHandler<More>,
): (request: PlatformRequest, ...more: More) => Promise<PlatformResponse> {
  const own = checkMiddleware(options, "key must be there");
  checkOption("handler", handler, isFunction(handler), "a function from a request to its response");
  return async (request, ...more) => {
    const outcome = await limitRequest(own, request, own.key(request));
    if (!outcome.allowed) {
      return new Response(DENIAL, {
        status: 429, statusText: "Too Many Requests",
        headers: { ...outcome.headers, "Content-Type": JSON_TYPE },
      });
    }
    const response = await handler(request, ...more);
    // Nobody may copy a response that changes the protocol, and Bun has none there at all.
    const isPlain = response?.status >= 200;
    if (!isPlain) return response;
    const told = new Response(response.body, response);  // headers of a fetched one are fixed
    for (const [name, value] of Object.entries(outcome.headers)) told.headers.set(name, value);
    return told;
  };
}

// ---- Express, Connect ----

interface ExpressRequest {
  ip?: string | undefined;
}
interface ExpressResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body?: string): unknown;
}

/** Limits by `req.ip` unless `key` says otherwise; see Express's `trust proxy`. */
export function limitExpress<Request extends ExpressRequest>(options: MiddlewareOptions<Request>) {
  const own = checkMiddleware(options, "key may be left out");
  return async (request: Request, response: ExpressResponse, next: (error?: unknown) => void) => {
    try {
      const key = own.key === undefined ? request.ip : own.key(request);
      const outcome = await limitRequest(own, request, key);
      for (const [name, value] of Object.entries(outcome.headers)) {
        response.setHeader(name, value);
      }
      if (outcome.allowed) return next();
      response.statusCode = 429;
      response.setHeader("Content-Type", JSON_TYPE);
      response.end(DENIAL);
    } catch (error) {
      next(error);
    }
  };
}

// ---- Hono ----

interface HonoContext {
  header(name: string, value: string): void;
  body(text: string, status: 429, headers: { "Content-Type": string }): PlatformResponse;
}

export function limitHono<Context extends HonoContext>(options: Keyed<Context>) {
  const own = checkMiddleware(options, "key must be there");
  return async (context: Context, next: () => Promise<void>): Promise<PlatformResponse | void> => {
    const outcome = await limitRequest(own, context, own.key(context));
    for (const [name, value] of Object.entries(outcome.headers)) {
      context.header(name, value);
    }
    if (!outcome.allowed) return context.body(DENIAL, 429, { "Content-Type": JSON_TYPE });
    await next();
  };
}

// ---- Fastify ----

interface FastifyRequest {
  ip: string;
}
interface FastifyReply {
  code(status: number): FastifyReply;
  headers(fields: Record<string, string>): FastifyReply;
  type(contentType: string): FastifyReply;
  send(body: string): unknown;
}

/** A hook: `fastify.addHook("onRequest", limitFastify({ limiter }))`. */
export function limitFastify<Request extends FastifyRequest>(options: MiddlewareOptions<Request>) {
  const own = checkMiddleware(options, "key may be left out");
  return async (request: Request, reply: FastifyReply): Promise<unknown> => {
    const key = own.key === undefined ? request.ip : own.key(request);
    const outcome = await limitRequest(own, request, key);
    reply.headers(outcome.headers);
    if (outcome.allowed) return undefined;
    return reply.code(429).type(JSON_TYPE).send(DENIAL);
  };
}
