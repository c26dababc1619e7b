// The rules that `weir export` has written: which apply to a request, under which key each counts
// it, and what a denial answers. They are read by the server's own code, src/rules, in rules.wasm.
//
// The module works with bytes, so keys, tiers and fields of answers are strings of bytes: a
// character above U+007F is as many as it has in UTF-8.

import module from "#rules.wasm";
import { ALGORITHMS, Quota, type Decision } from "@weir/limiter";
import { TimeZones } from "./time_zones.js";

// wasm/rules.h describes them.
interface Exports {
  memory: WebAssembly.Memory;
  weir_text(bytes: number): number;
  weir_answer(): number;
  weir_rules(length: number): number;
  weir_rule(index: number): void;
  weir_match(length: number, now: number): number;
  weir_applied(place: number): void;
  weir_limit(limits: number, index: number): void;
  weir_deny(length: number, now: number, place: number, limit: number, remaining: number,
            retryAfter: number, resetAfter: number): void;
}

export interface Rule {
  id: string;
  cost: number;
  shadow: boolean;
}

const LISTS = [undefined, "allow", "deny", "missing"] as const;

/** A rule that applies to a request. */
export interface Applied {
  /** Among those that apply. */
  place: number;
  rule: Rule;
  key: string;
  tier: string;
  quotas: Quota[];
  /** A client that is in a list is not counted, nor one that lacks a key and is denied for it. */
  list: (typeof LISTS)[number];
}

/** What a rule answers in place of the Worker's own denial. */
export interface DenialAnswer {
  status: number | undefined;
  fields: [string, string][];
  body: Uint8Array | undefined;
}

const TEXT_BYTES = 8192;
const ANSWER_NUMBERS = 8;
const BYTES_AT_ONCE = 8192;
const encoder = new TextEncoder();

// No wait helps a client that asks for more than there ever is.
const wholeSeconds = (seconds: number): number =>
  Number.isFinite(seconds) ? Math.ceil(seconds) : 0;

export class Rules {
  readonly all: Rule[];
  private readonly exports: Exports;
  private readonly quotas = new Map<number, Quota[]>();  // by their place in the memory
  private textBytes = TEXT_BYTES;
  private text = new Uint8Array(0);
  private memory = new Uint8Array(0);
  private answer = new Float64Array(0);

  /** Throws if it is not what `weir export` writes, or names a zone that JavaScript has not. */
  constructor(packed: Uint8Array) {
    const zones = new TimeZones();
    const imports = {
      zone: (at: number, length: number) => (this.look(), zones.add(this.textAt(at, length))),
      offset: (zone: number, utc: number) => zones.offsetAt(zone, utc),
    };
    const compiled =
      module instanceof WebAssembly.Module ? module : new WebAssembly.Module(module);
    this.exports =
      new WebAssembly.Instance(compiled, { js: imports }).exports as unknown as Exports;
    this.reserve(packed.length);
    this.text.set(packed);
    const count = this.exports.weir_rules(packed.length);
    if (count < 0) throw new RangeError("these are not rules that this version has exported");
    this.look();
    this.all = Array.from({ length: count }, (_, index) => this.ruleAt(index));
  }

  /** Those that apply to a request, as requestText() has it; undefined: it is to be refused. */
  match(request: string, now: number): Applied[] | undefined {
    const count = this.exports.weir_match(this.put(request), 1000 * now);
    this.look();
    if (count < 0) return undefined;
    const all = [];
    for (let place = 0; place < count; ++place) all.push(this.applied(place));
    return all;
  }

  /** What the rule at that place of match() says to whom it denies. */
  denialAnswer(request: string, now: number, place: number, decision: Decision): DenialAnswer {
    const { limit, remaining, retryAfter, resetAfter } = decision;
    this.exports.weir_deny(this.put(request), 1000 * now, place, limit, remaining,
                           wholeSeconds(retryAfter), wholeSeconds(resetAfter));
    this.look();
    const [status, fields, fieldsLength, body, bodyLength] = this.answer;
    const lines = this.textAt(fields!, fieldsLength!).split("\n");
    const pairs = Array.from({ length: lines.length >> 1 }, (_, index): [string, string] =>
      [lines[2 * index]!, lines[2 * index + 1]!]);
    return { status: status === 0 ? undefined : status!, fields: pairs,
             body: body === 0 ? undefined : this.memory.slice(body!, body! + bodyLength!) };
  }

  private ruleAt(index: number): Rule {
    this.exports.weir_rule(index);
    const [id, length, cost, shadow] = this.answer;
    return { id: this.textAt(id!, length!), cost: cost!, shadow: shadow === 1 };
  }

  private applied(place: number): Applied {
    this.exports.weir_applied(place);
    const answer = this.answer;  // by places, as taking an array of doubles apart costs more
    return {
      place,
      rule: this.all[answer[0]!]!,
      list: LISTS[answer[1]!],
      key: this.textAt(answer[2]!, answer[3]!),
      tier: this.textAt(answer[4]!, answer[5]!),
      quotas: this.quotasAt(answer[6]!, answer[7]!),
    };
  }

  private quotasAt(limits: number, count: number): Quota[] {
    let quotas = this.quotas.get(limits);
    if (quotas === undefined) {
      quotas = Array.from({ length: count }, (_, index) => this.quotaAt(limits, index));
      this.quotas.set(limits, quotas);
    }
    return quotas;
  }

  private quotaAt(limits: number, index: number): Quota {
    this.exports.weir_limit(limits, index);
    const [algorithm, limit, window, capacity] = this.answer;
    const burst = capacity === limit ? {} : { burst: capacity! };
    return new Quota({ algorithm: ALGORITHMS[algorithm!]!, limit: limit!, window: window! / 1e6,
                       ...burst });
  }

  // ---- the module's memory ----

  private put(text: string): number {
    this.reserve(3 * text.length);
    return encoder.encodeInto(text, this.text).written!;
  }

  private textAt(at: number, length: number): string {
    if (length > BYTES_AT_ONCE) {
      return this.textAt(at, BYTES_AT_ONCE) +
             this.textAt(at + BYTES_AT_ONCE, length - BYTES_AT_ONCE);
    }
    const bytes = this.memory.subarray(at, at + length) as unknown as number[];
    return length === 0 ? "" : String.fromCharCode.apply(null, bytes);
  }

  private reserve(bytes: number): void {
    if (bytes <= this.textBytes && this.text.length > 0) return this.look();
    this.textBytes = Math.max(2 * bytes, this.textBytes);
    this.memory = new Uint8Array(0);
    this.look();
  }

  // Views of the memory end when it grows.
  private look(): void {
    if (this.memory.length > 0) return;
    const at = this.exports.weir_text(this.textBytes);
    const { buffer } = this.exports.memory;
    this.text = new Uint8Array(buffer, at, this.textBytes);
    this.memory = new Uint8Array(buffer);
    this.answer = new Float64Array(buffer, this.exports.weir_answer(), ANSWER_NUMBERS);
  }
}
