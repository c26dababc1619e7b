// A Durable Object that holds one key's counter, exactly: for all callers, from everywhere, in one
// order. It writes each admission before the answer leaves, so a restart forgets nothing.
//
//   export { WeirCounter } from "@weir/limiter";                        // in the Worker
//   const limiter = new Limiter(quota, new DurableStore({ namespace: env.COUNTER }));

import { Core } from "./core.js";
import { checkOption, hasFunctions, ownOptions, type NamesOf } from "./options.js";
import type { PlatformRequest, PlatformResponse, PostInit } from "./platform/fetch_types.js";
import { checkCost, Quota, type QuotaOptions } from "./quota.js";
import { decisionOf, type Decision } from "./decision.js";
import { StoreError } from "./batcher.js";
import { FAILURE_NAMES, FailoverStore, type FailureOptions } from "./failover.js";
import { keyName } from "./kv/kv_namespace.js";

interface ObjectStorage {
  get(name: string): Promise<unknown>;
  put(name: string, value: unknown): Promise<void>;
  delete(name: string): Promise<unknown>;
  deleteAll(): Promise<void>;
  setAlarm(at: number): Promise<void>;
}
interface ObjectState {
  storage: ObjectStorage;
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>;
}

interface Call {
  quota: QuotaOptions;
  cost: number;
  reset: boolean;
}

const STATE = "state";
const FORGET_AFTER_MS = 60_000;  // so that a busy counter sets its alarm once a minute

let shared: Core | undefined;  // for its functions: it keeps no keys

/** The class that wrangler.toml binds. */
export class WeirCounter {
  private state: { algorithm: number; words: BigInt64Array } | undefined;
  private alarmAt = 0;

  constructor(private readonly object: ObjectState) {
    void object.blockConcurrencyWhile(async () => {
      this.state = (await object.storage.get(STATE)) as typeof this.state;
    });
  }

  async fetch(request: PlatformRequest): Promise<PlatformResponse> {
    try {
      const { quota, cost, reset } = (await request.json()) as Call;
      const checked = new Quota(quota);
      checkCost(cost);
      if (reset) this.keep(undefined);
      const decision = this.spend(checked, reset ? 0 : cost, Date.now());
      // JSON has no Infinity.
      const retryAfter = Number.isFinite(decision.retryAfter) ? decision.retryAfter : null;
      return new Response(JSON.stringify({ ...decision, retryAfter }));
    } catch (error) {
      return new Response(String(error), { status: 400 });
    }
  }

  /** Nobody has asked for long: the storage is given back. */
  async alarm(): Promise<void> {
    this.state = undefined;
    await this.object.storage.deleteAll();
  }

  private spend(quota: Quota, cost: number, now: number): Decision {
    const core = (shared ??= new Core(1024, now * 1000));
    const index = core.numberOfQuota(quota);
    const known = this.state?.algorithm === quota.algorithm ? this.state.words : undefined;
    if (known !== undefined) core.state.set(known);
    const step = core.exports.weir_step(index, known?.length ?? 0, cost, now * 1000);
    const [limit, remaining, retry, reset, , more] = core.answer;
    const words = core.state.slice(0, step >> 2);
    if (cost !== 0 && !sameWords(words, known)) {
      this.keep({ algorithm: quota.algorithm, words });
      this.forgetLater(now + reset! / 1000);
    }
    return decisionOf(step & 3, limit!, remaining!, retry!, reset!, more!, now * 1000);
  }

  // Not waited for: the runtime holds the answer back until it is written.
  private keep(state: typeof this.state): void {
    this.state = state;
    void (state === undefined ? this.object.storage.delete(STATE)
                              : this.object.storage.put(STATE, state));
  }

  // `at`: when the counter holds nothing any more.
  private forgetLater(at: number): void {
    if (at <= this.alarmAt) return;
    this.alarmAt = at + FORGET_AFTER_MS;
    void this.object.storage.setAlarm(this.alarmAt);
  }
}

function sameWords(words: BigInt64Array, known: BigInt64Array | undefined): boolean {
  return known?.length === words.length && words.every((word, index) => word === known[index]);
}

interface ObjectNamespace {
  idFromName(name: string): unknown;
  get(id: any): { fetch(url: string, init: PostInit): Promise<PlatformResponse> };
}

export interface DurableStoreOptions extends FailureOptions {
  /** The binding of the class WeirCounter. */
  namespace: ObjectNamespace;
}
const NAMES: NamesOf<DurableStoreOptions> = { namespace: true, ...FAILURE_NAMES };

export class DurableStore extends FailoverStore {
  private readonly namespace: ObjectNamespace;

  constructor(options: DurableStoreOptions) {
    const own = ownOptions(options, "namespace", NAMES);
    super(own);
    const { namespace } = own;
    checkOption("namespace", namespace, hasFunctions(namespace, "idFromName", "get"),
                "the binding of the class WeirCounter: env.COUNTER, say");
    this.namespace = namespace;
  }

  protected ask(quota: Quota, bucket: string, key: string, cost: number): Promise<Decision> {
    return this.call(quota, bucket, key, { cost, reset: false });
  }

  protected forget(quota: Quota, bucket: string, key: string): Promise<unknown> {
    return this.call(quota, bucket, key, { cost: 0, reset: true });
  }

  private async call(quota: Quota, bucket: string, key: string,
                     what: Omit<Call, "quota">): Promise<Decision> {
    const { limit, window, name: algorithm, burst } = quota;
    const options = { limit, window, algorithm, ...(burst > 0 ? { burst } : {}) };
    const { namespace } = this;
    const id = namespace.idFromName(await keyName("", quota, bucket, key));
    const response = await namespace.get(id).fetch("https://weir/", {
      method: "POST",
      body: JSON.stringify({ quota: options, ...what }),
    });
    if (!response.ok) throw new StoreError(`the object answered ${response.status}`);
    const decision = (await response.json()) as Decision & { retryAfter: number | null };
    return { ...decision, retryAfter: decision.retryAfter ?? Infinity };
  }
}
