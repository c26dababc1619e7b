// Limits over an eventually consistent KV: a read may be a minute old, a key takes one write a
// second, and writes cost money. So each place (an isolate of a Worker) decides in its memory,
// and tells the others at KV's pace:
//
//   memory of a place ──units, rate──> its entry in the key's value ──up to 60 s──> other places
//
// A place admits what the limit leaves after the others' share: what their entries say, and their
// last rate carried forward over the time since. Writes are merged: a place replaces its own entry
// only. They come at most once an interval, and only for keys that use a part of their limit that
// matters. A write or read that fails is counted, and made good by the next; it never reaches a
// client.
//
// The places together may admit more than the limit: bound() says how much.

import { decisionOf, type Decision } from "../decision.js";
import { MemoryStore } from "../memory_store.js";
import {
  checkOption, checkOptional, hasFunctions, isCount, isFunction, isText, ownOptions, type NamesOf,
} from "../options.js";
import { Quota } from "../quota.js";
import { checkKept, type Store } from "../store.js";
import { randomBytes } from "#platform";
import { expectedPercent } from "./bound.js";
import { keyName, type KvNamespace } from "./kv_namespace.js";
import { PlainCounters, type PlainFormat } from "./plain_counters.js";
import { readEntries, usedAt, writeEntries, type Entries } from "./kv_text.js";

export interface KvStoreOptions {
  kv: KvNamespace;
  /**
   * `merged` unless given. `log` (a JSON array of times in ms) and `count` (a number) are what
   * others have in their KV. They are read and written for each request, so under load writes
   * fail and nothing is limited.
   */
  format?: "merged" | PlainFormat;
  /** Before every name in KV: "weir:" unless given. */
  prefix?: string;
  /** How many places share the limits; those that are seen count, too. 2 unless given. */
  places?: number;
  /** Milliseconds between writes of a key: a tenth of its window unless given, or `staleness`. */
  interval?: number;
  /** Milliseconds that a key's first request may wait for its first read: 50 unless given. */
  wait?: number;
  /** Keys that memory keeps: 10,000 unless given. */
  maxKeys?: number;
  /** What the KV promises, in milliseconds; Workers KV's 60,000 and 1,000 unless given. */
  staleness?: number;
  writeEvery?: number;
  /** The name of this place; random unless given. */
  place?: string;
  /** Keeps a Worker alive until its writes are done. Set it for every request. */
  waitUntil?: (work: Promise<unknown>) => void;
}
const NAMES: NamesOf<KvStoreOptions> = {
  kv: true, format: true, prefix: true, places: true, interval: true, wait: true, maxKeys: true,
  staleness: true, writeEvery: true, place: true, waitUntil: true,
};

/** What a limit over KV may admit, in units a window; windows follow each other since 1970. */
export interface Bound {
  /** Never more: every place by itself. */
  hard: number;
  /** Under three times the limit's load, as the simulation has found. */
  expected: number;
}

interface Record {
  others: Entries;
  window: number;
  previous: number;
  current: number;
  total: number;      // admitted since the record was made
  syncAt: number;     // the next one, at the earliest
  syncingUntil: number;  // while one is under way; 0: none is
  told: { at: number; total: number; rate: number };
}

const WRITE_EVERY_MS = 1000;
const STALE_MS = 60_000;
const TTL_MIN_S = 60;          // KV refuses less
// A Worker's work ends 30 s after its response: what it waited for then never comes.
const LOST_AFTER_MS = 30_000;
const RECORDS_MAX = 10_000;

const FORMATS = ["merged", "log", "count"];

function checkKvOptions(options: KvStoreOptions): void {
  const { kv, format, places, prefix, place } = options;
  checkOption("kv", kv, hasFunctions(kv, "get", "put", "delete"),
              "the binding of a KV namespace: env.KV, say");
  checkOptional("format", format, FORMATS.includes(format as string),
                `one of ${FORMATS.join(", ")}`);
  checkOptional("places", places, isCount(places, 1), "a number, 1 at least");
  for (const name of ["interval", "wait", "staleness", "writeEvery"] as const) {
    checkOptional(name, options[name], isCount(options[name], 0), "a number of milliseconds");
  }
  for (const [name, text] of Object.entries({ prefix, place })) {
    checkOptional(name, text, isText(text), "a text");
  }
  checkOptional("waitUntil", options.waitUntil, isFunction(options.waitUntil), "a function");
  checkOptional("maxKeys", options.maxKeys, isCount(options.maxKeys, 1), "a number, 1 at least");
}

/** Limits over KV count in windows. */
const COUNTED = ["sliding_window", "fixed_window"] as const;
type Counted = (typeof COUNTED)[number];

export class KvStore implements Store<Promise<Decision>, Counted> {
  readonly algorithms: readonly Counted[] = COUNTED;
  readonly limitMax: number;
  waitUntil: ((work: Promise<unknown>) => void) | undefined;
  /** What KV refused or garbled so far. */
  readonly failures = { reads: 0, writes: 0, values: 0 };
  readonly counts = { reads: 0, writes: 0 };

  private readonly options: KvStoreOptions;
  private readonly plain: PlainCounters | undefined;
  private readonly memory: MemoryStore;
  private readonly records = new Map<string, Record>();
  private place: string | undefined;
  private placesSeen = 1;

  constructor(options: KvStoreOptions) {
    this.options = ownOptions(options, "kv", NAMES);
    checkKvOptions(this.options);
    const { kv, format, place, waitUntil } = this.options;
    this.place = place;
    this.waitUntil = waitUntil;
    if (format === "log" || format === "count") {
      this.plain = new PlainCounters(kv, format, this.failures);
    }
    this.limitMax = this.plain?.limitMax ?? Infinity;
    this.memory = new MemoryStore({ maxKeys: Math.max(1024, this.recordsMax) });
  }

  /** What the quota may admit in a window, all places together. */
  bound(quota: Quota): Bound {
    const places = this.places;
    if (this.plain !== undefined) return { hard: Infinity, expected: Infinity };
    return {
      hard: places * quota.limit,
      expected: Math.ceil((quota.limit * expectedPercent(places, quota.limit)) / 100),
    };
  }

  async spend(quota: Quota, bucket: string, key: string, cost: number,
              now: number): Promise<Decision> {
    checkKept(quota, this);
    const name = await keyName(this.options.prefix ?? "weir:", quota, bucket, key);
    if (this.plain !== undefined) return this.plain.spend(name, quota, cost, now);
    let record = this.records.get(name);
    if (record === undefined) {
      record = this.makeRecord(name, now);
      await this.firstRead(name, record, quota, now);
    }
    const decision = this.decide(record, quota, bucket, key, cost, now);
    if (decision.allowed && cost !== 0) this.note(record, quota, cost, now);
    this.syncIfDue(name, record, quota, now);
    return decision;
  }

  async reset(quota: Quota, bucket: string, key: string, now: number): Promise<void> {
    const name = await keyName(this.options.prefix ?? "weir:", quota, bucket, key);
    this.memory.reset(quota, bucket, key, now);
    this.records.delete(name);
    await this.options.kv.delete(name);
  }

  private get places(): number {
    return Math.max(this.options.places ?? 2, this.placesSeen);
  }

  private get staleness(): number {
    return this.options.staleness ?? STALE_MS;
  }

  private get recordsMax(): number {
    return this.options.maxKeys ?? RECORDS_MAX;
  }

  private makeRecord(name: string, now: number): Record {
    if (this.records.size >= this.recordsMax) {
      this.records.delete(this.records.keys().next().value!);  // the oldest
    }
    const record: Record = {
      others: new Map(), window: 0, previous: 0, current: 0, total: 0, syncAt: 0,
      syncingUntil: 0, told: { at: now, total: 0, rate: 0 },
    };
    this.records.set(name, record);
    return record;
  }

  private decide(record: Record, quota: Quota, bucket: string, key: string, cost: number,
                 now: number): Decision {
    const room = this.roomAt(record, quota, now);
    if (cost > Math.max(0, room) && cost <= quota.limit) {
      const left = windowMs(quota) - (now % windowMs(quota));
      return decisionOf(1, quota.limit, 0, 1000 * left, 1000 * left, 1000 * left, 1000 * now);
    }
    if (room >= quota.limit || cost > quota.limit) {
      return this.memory.spend(quota, bucket, key, cost, now);
    }
    const own = new Quota({ algorithm: quota.name, limit: Math.max(0, room),
                            window: quota.window });
    return { ...this.memory.spend(own, bucket, key, cost, now), limit: quota.limit };
  }

  // What the others leave, and at least an even share. Without that share, busy places would each
  // take all that comes free at once.
  private roomAt(record: Record, quota: Quota, now: number): number {
    // An entry may come by way of two reads: its place's neighbour's, and ours.
    const horizon = 2 * this.staleness + 2 * this.intervalOf(quota);
    const isFixed = quota.name === "fixed_window";
    let others = 0;
    let active = 1;
    for (const entry of record.others.values()) {
      const used = usedAt(entry, windowMs(quota), isFixed, horizon, now);
      others += Math.min(quota.limit, used);
      if (used > 0) ++active;
    }
    return Math.floor(Math.max(quota.limit - others, quota.limit / active));
  }

  private note(record: Record, quota: Quota, cost: number, now: number): void {
    this.roll(record, quota, now);
    record.current = Math.max(0, record.current + cost);
    record.total += cost;
  }

  private roll(record: Record, quota: Quota, now: number): void {
    const window = Math.floor(now / windowMs(quota));
    if (window === record.window) return;
    record.previous = window === record.window + 1 ? record.current : 0;
    record.current = 0;
    record.window = window;
  }

  // ---- KV ----

  private intervalOf(quota: Quota): number {
    const wanted = this.options.interval ?? Math.min(windowMs(quota) / 10, this.staleness);
    // Clocks and trips vary.
    return Math.max(1.1 * (this.options.writeEvery ?? WRITE_EVERY_MS), wanted);
  }

  private async firstRead(name: string, record: Record, quota: Quota, now: number): Promise<void> {
    const wait = this.options.wait ?? 50;
    record.syncAt = now + this.intervalOf(quota) * Math.random();  // places take turns
    const reading = this.syncBy(record, now, this.read(name, record, now));
    if (wait <= 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, wait)));
    await Promise.race([reading, late]).finally(() => clearTimeout(timer));
  }

  private syncIfDue(name: string, record: Record, quota: Quota, now: number): void {
    if (now < record.syncingUntil || now < record.syncAt) return;
    // Not in step with other places: of two writes in one second KV refuses one.
    record.syncAt = now + this.intervalOf(quota) * (1 + Math.random() / 2);
    void this.syncBy(record, now, this.sync(name, record, quota, now));
  }

  private syncBy(record: Record, now: number, work: Promise<void>): Promise<void> {
    record.syncingUntil = now + LOST_AFTER_MS;
    const done = work.finally(() => (record.syncingUntil = 0));
    this.waitUntil?.(done);
    return done;
  }

  private async sync(name: string, record: Record, quota: Quota, now: number): Promise<void> {
    await this.read(name, record, now);
    this.roll(record, quota, now);
    // Below that all places together are far from the limit.
    const matters = quota.limit / (2 * this.places);
    if (record.current + record.previous <= matters) return;
    await this.write(name, record, quota, now);
  }

  private async read(name: string, record: Record, now: number): Promise<void> {
    let text: string | null;
    try {
      ++this.counts.reads;
      text = await this.options.kv.get(name);
    } catch {
      ++this.failures.reads;
      return;
    }
    if (text === null || text === undefined) return;
    const entries = readEntries(text);
    if (entries === undefined) ++this.failures.values;
    for (const [place, entry] of entries ?? []) {
      // A clock ahead of ours would make its entry the newest for good.
      const seen = { ...entry, at: Math.min(entry.at, now) };
      const known = record.others.get(place);
      if (place !== this.ownPlace && (known === undefined || known.at < seen.at)) {
        record.others.set(place, seen);
      }
    }
    this.placesSeen = Math.max(this.placesSeen, 1 + record.others.size);
  }

  private async write(name: string, record: Record, quota: Quota, now: number): Promise<void> {
    const { told, previous, current, total } = record;
    const rate = Math.max(0, (total - told.total) / Math.max(1, now - told.at));
    const gone = now - 2 * windowMs(quota) - this.staleness;
    for (const [place, { at }] of record.others) if (at < gone) record.others.delete(place);
    const own = { at: now, previous, current, rate };
    const entries: Entries = new Map(record.others).set(this.ownPlace, own);
    const seconds = Math.max(TTL_MIN_S, Math.ceil((2 * windowMs(quota)) / 1000));
    try {
      ++this.counts.writes;
      await this.options.kv.put(name, writeEntries(entries), { expirationTtl: seconds });
      record.told = { at: now, total, rate };
    } catch {
      ++this.failures.writes;  // the next write says it all
    }
  }

  private get ownPlace(): string {
    this.place ??= Array.from(randomBytes(6), (byte) => byte.toString(36)).join("");
    return this.place;
  }
}

const windowMs = (quota: Quota): number => quota.windowUs / 1000;
