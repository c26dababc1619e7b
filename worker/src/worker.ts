// A Worker that limits what comes to an origin, by the rules that `weir export` has written.
//
//   env.KV        the namespace in which places tell each other what they have admitted; or
//   env.COUNTER   the Durable Objects that count, for rules exported with --store durable
//   env.ORIGIN    a service to pass requests to; without it, fetch() goes to the request's URL
//
// It fails open: nothing that goes wrong here is a client's error. docs/worker.md has the rest.

import {
  DurableStore, KvStore, type Decision, type DurableStoreOptions, type KvNamespace, type Quota,
} from "@weir/limiter";
import exported from "#rules";
import { Metrics } from "./metrics.js";
import { factsOf, type Facts } from "./request_facts.js";
import { compileRules, matchingRules, type ExportedRules, type Rule } from "./rules.js";

export { WeirCounter } from "@weir/limiter";

interface Fetcher {
  fetch(request: Request): Promise<Response>;
}

interface Env {
  KV?: KvNamespace;
  COUNTER?: DurableStoreOptions["namespace"];
  ORIGIN?: Fetcher;
  /** How many places share the limits: docs/worker.md. */
  PLACES?: string;
  /** In milliseconds, of a KV other than Workers'. */
  KV_STALENESS?: string;
  KV_WRITE_EVERY?: string;
  /** Who sends it as a bearer may read METRICS_PATH. Without it, nobody may. */
  METRICS_TOKEN?: string;
}

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

interface Charge {
  rule: Rule;
  quota: Quota;
  key: string;
}

interface Denial {
  charge: Charge;
  decision: Decision;
}

const METRICS_PATH = "/weir/metrics";
const RULES = compileRules(exported as ExportedRules);
const metrics = new Metrics();
let store: KvStore | DurableStore | undefined;

const numberOf = (text: string | undefined): { value?: number } =>
  text === undefined ? {} : { value: Number(text) };

// ---- deciding ----

function storeOf(env: Env): KvStore | DurableStore {
  if (store !== undefined) return store;
  if ((exported as ExportedRules).store === "durable") {
    return (store = new DurableStore({ namespace: env.COUNTER! }));
  }
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

function chargesOf(facts: Facts): Charge[] {
  return matchingRules(RULES, facts).flatMap((rule) => {
    const key = rule.keyOf(facts);
    return rule.quotas.map((quota) => ({ rule, quota, key }));
  });
}

// Makes all charges, or none if the counters would deny one. Only requests of the same moment
// can come between a look and its charge.
async function decide(charges: Charge[], counters: KvStore | DurableStore,
                      now: number): Promise<Denial | undefined> {
  const spend = ({ rule, quota, key }: Charge, cost: number): Promise<Decision> =>
    counters.spend(quota, rule.id, key, cost, now);
  const denialOf = async (charge: Charge, cost: number): Promise<Denial | undefined> => {
    const decision = await spend(charge, cost);
    const fits = cost > 0 ? decision.allowed : decision.remaining >= charge.rule.cost;
    if (fits) return undefined;
    metrics.denied(charge.rule);
    return charge.rule.shadow ? undefined : { charge, decision };
  };
  if (charges.length > 1) {
    for (const charge of charges) {
      const denial = await denialOf(charge, 0);
      if (denial !== undefined) return denial;
    }
  }
  let first: Denial | undefined;
  for (const charge of charges) first ??= await denialOf(charge, charge.rule.cost);
  return first;
}

// ---- answering ----

function refuse({ decision }: Denial, request: Request, country: string): Response {
  return new Response(JSON.stringify({ error: "Too Many Requests", errorCode: 429 }), {
    status: 429,
    headers: {
      "Access-Control-Allow-Origin": "*",
      "Cache-Control": "max-age=3",
      "Content-Type": "application/json",
      "Country": country,
      "Count": String(decision.limit - decision.remaining),
      "IP": request.headers.get("cf-connecting-ip") ?? "",
    },
  });
}

function tellMetrics(request: Request, env: Env): Response {
  const authorized = env.METRICS_TOKEN !== undefined && env.METRICS_TOKEN !== "" &&
                     request.headers.get("authorization") === `Bearer ${env.METRICS_TOKEN}`;
  if (!authorized) return new Response("Not Found", { status: 404 });
  return new Response(metrics.text(store, RULES), {
    headers: { "Content-Type": "text/plain; version=0.0.4" },
  });
}

function pass(request: Request, env: Env): Promise<Response> {
  return env.ORIGIN === undefined ? fetch(request) : env.ORIGIN.fetch(request);
}

async function denialOf(request: Request, env: Env, context: Context,
                        country: string): Promise<Denial | undefined> {
  try {
    const counters = storeOf(env);
    if (counters instanceof KvStore) counters.waitUntil = (work) => context.waitUntil(work);
    return await decide(chargesOf(factsOf(request, country)), counters, Date.now());
  } catch (error) {
    metrics.failed(error);
    return undefined;
  }
}

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    if (new URL(request.url).pathname === METRICS_PATH) return tellMetrics(request, env);
    const country = (request as { cf?: { country?: string } }).cf?.country ?? "";
    const denial = await denialOf(request, env, context, country);
    metrics.asked(denial !== undefined, denial?.charge.rule);
    return denial === undefined ? pass(request, env) : refuse(denial, request, country);
  },
};
