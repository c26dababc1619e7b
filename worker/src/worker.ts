// A Worker that limits what comes to an origin, by the rules that `weir export` has written.
//
//   env.KV        the namespace in which places tell each other what they have admitted; or
//   env.COUNTER   the Durable Objects that count, for rules exported with --store durable
//   env.ORIGIN    a service to pass requests to; without it, fetch() goes to the request's URL
//
// It fails open: nothing that goes wrong here is a client's error. docs/internals/worker.md
// has the rest.

import {
  DurableStore, KvStore, type Decision, type DurableStoreOptions, type KvNamespace, type Quota,
} from "@weir/limiter";
import exported from "#rules";
import { Metrics } from "./metrics.js";
import { requestText } from "./request_text.js";
import { Rules, type Applied, type DenialAnswer } from "./rules.js";
import { statusOf } from "./status_texts.js";

export { WeirCounter } from "@weir/limiter";

interface Fetcher {
  fetch(request: Request): Promise<Response>;
}

interface Env {
  KV?: KvNamespace;
  COUNTER?: DurableStoreOptions["namespace"];
  ORIGIN?: Fetcher;
  /** How many places share the limits: docs/internals/worker.md. */
  PLACES?: string;
  /** In milliseconds, of a KV other than Workers'. */
  KV_STALENESS?: string;
  KV_WRITE_EVERY?: string;
  /** A client that sends it as a bearer may read METRICS_PATH. Without it, nobody may. */
  METRICS_TOKEN?: string;
}

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

interface Charge {
  applied: Applied;
  quota: Quota;
}

interface Denial {
  applied: Applied;
  decision: Decision;
}

const METRICS_PATH = "/weir/metrics";
const COUNTS_IN_OBJECTS = exported[0] === "d".charCodeAt(0);  // as `weir export` says first
const RULES = new Rules(exported.subarray(1));
const metrics = new Metrics();
let store: KvStore | DurableStore | undefined;

const numberOf = (text: string | undefined): { value?: number } =>
  text === undefined ? {} : { value: Number(text) };

// ---- deciding ----

function storeOf(env: Env): KvStore | DurableStore {
  if (store !== undefined) return store;
  if (COUNTS_IN_OBJECTS) return (store = new DurableStore({ namespace: env.COUNTER! }));
  const places = numberOf(env.PLACES).value;
  const staleness = numberOf(env.KV_STALENESS).value;
  const writeEvery = numberOf(env.KV_WRITE_EVERY).value;
  return (store = new KvStore({
    kv: env.KV!,
    ...(places === undefined ? {} : { places }),
    ...(staleness === undefined ? {} : { staleness }),
    ...(writeEvery === undefined ? {} : { writeEvery }),
  }));
}

// The server's answer to a client that is in a list: no wait helps.
const listed = ({ quotas }: Applied): Decision => ({
  allowed: false, remaining: 0, retryAfter: Infinity, resetAfter: 0, moreAfter: 0,
  limit: quotas[0]!.capacity,
});

// The rule's way to say no, unless it is in shadow.
function denialOf(applied: Applied, decision: Decision): Denial | undefined {
  metrics.denied(applied.rule);
  return applied.rule.shadow ? undefined : { applied, decision };
}

async function firstOf(charges: Charge[],
                       denialBy: (charge: Charge) => Promise<Denial | undefined>,
): Promise<Denial | undefined> {
  for (const charge of charges) {
    const denial = await denialBy(charge);
    if (denial !== undefined) return denial;
  }
  return undefined;
}

// Makes all charges, or none if a list or a counter would deny one. Only requests of the same
// moment can come between a look and its charge.
async function decide(all: Applied[], counters: KvStore | DurableStore,
                      now: number): Promise<Denial | undefined> {
  for (const applied of all) {
    const isDenied = applied.list === "deny" || applied.list === "missing";
    const denial = isDenied ? denialOf(applied, listed(applied)) : undefined;
    if (denial !== undefined) return denial;
  }
  const charges = all.flatMap((applied) =>
    applied.list === undefined ? applied.quotas.map((quota) => ({ applied, quota })) : []);
  const spend = ({ applied: { rule, key }, quota }: Charge, cost: number): Promise<Decision> =>
    counters.spend(quota, rule.id, key, cost, now);
  const denialBy = async (charge: Charge): Promise<Denial | undefined> => {
    const decision = await spend(charge, charge.applied.rule.cost);
    return decision.allowed ? undefined : denialOf(charge.applied, decision);
  };
  const looks = charges.length > 1 ? charges.filter(({ applied }) => !applied.rule.shadow) : [];
  return await firstOf(looks, async (charge) => {
    const { remaining } = await spend(charge, 0);
    return remaining < charge.applied.rule.cost ? denialBy(charge) : undefined;
  }) ?? await firstOf(charges, denialBy);
}

// ---- answering ----

const DENIAL = JSON.stringify({ error: "Too Many Requests", errorCode: 429 });

function refuse(decision: Decision, answer: DenialAnswer, request: Request, country: string,
): Response {
  const { status, fields, body } = answer;
  const headers = new Headers({
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": "max-age=3",
    "Content-Type": "application/json",
    "Country": country,
    "Count": String(decision.limit - decision.remaining),
    "IP": request.headers.get("cf-connecting-ip") ?? "",
  });
  for (const [name] of fields) headers.delete(name);
  for (const [name, value] of fields) headers.append(name, value);
  return new Response(body ?? DENIAL, { ...statusOf(status ?? 429), headers });
}

function tellMetrics(request: Request, env: Env): Response {
  const authorized = env.METRICS_TOKEN !== undefined && env.METRICS_TOKEN !== "" &&
                     request.headers.get("authorization") === `Bearer ${env.METRICS_TOKEN}`;
  if (!authorized) return new Response("Not Found", statusOf(404));
  return new Response(metrics.text(store, RULES.all), {
    headers: { "Content-Type": "text/plain; version=0.0.4" },
  });
}

function pass(request: Request, env: Env): Promise<Response> {
  return env.ORIGIN === undefined ? fetch(request) : env.ORIGIN.fetch(request);
}

function countersOf(env: Env, context: Context): KvStore | DurableStore {
  const counters = storeOf(env);
  if (counters instanceof KvStore) counters.waitUntil = (work) => context.waitUntil(work);
  return counters;
}

async function refusal(request: Request, env: Env, context: Context,
): Promise<Response | undefined> {
  try {
    const country = (request as { cf?: { country?: string } }).cf?.country ?? "";
    const text = requestText(request, country);
    const now = Date.now();
    const all = RULES.match(text, now);
    if (all === undefined) return new Response("Bad Request", { status: 400 });
    const denial = await decide(all, countersOf(env, context), now);
    const answer = denial && RULES.denialAnswer(text, now, denial.applied.place, denial.decision);
    const refused = answer && refuse(denial.decision, answer, request, country);
    metrics.asked(denial?.applied.rule);
    return refused;
  } catch (error) {
    metrics.failed(error);
    metrics.asked(undefined);
    return undefined;
  }
}

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    if (new URL(request.url).pathname === METRICS_PATH) return tellMetrics(request, env);
    return await refusal(request, env, context) ?? pass(request, env);
  },
};
