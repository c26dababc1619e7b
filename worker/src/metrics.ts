// What this isolate has counted, as Prometheus reads it, and what it logs. Other isolates, of
// the same place too, have counts of their own.

import { KvStore, type DurableStore } from "@weir/limiter";
import type { Rule } from "./rules.js";

const LOG_EVERY_MS = 1000;

export class Metrics {
  private readonly requests = { allowed: 0, denied: 0 };
  private readonly denials = new Map<string, number>();
  private errors = 0;
  private loggedAt = -Infinity;
  private unlogged = 0;

  /** A request has been decided: by whom it was denied, if it was. */
  asked(denier: Rule | undefined): void {
    ++this.requests[denier === undefined ? "allowed" : "denied"];
    if (denier !== undefined) this.log({ denied: denier.id });
  }

  denied({ id }: Rule): void {
    this.denials.set(id, (this.denials.get(id) ?? 0) + 1);
  }

  /** The limiter itself went wrong; the request has passed. */
  failed(error: unknown): void {
    ++this.errors;
    this.log({ error: String(error) });
  }

  text(store: KvStore | DurableStore | undefined, rules: Rule[]): string {
    const lines: string[] = [];
    const add = (name: string, what: string, values: [string, number][]): void => {
      lines.push(`# HELP ${name} ${what}`, `# TYPE ${name} counter`);
      for (const [labels, value] of values) lines.push(`${name}${labels} ${value}`);
    };
    add("weir_worker_requests_total", "Requests by outcome.",
        Object.entries(this.requests).map(([name, count]) => [`{decision="${name}"}`, count]));
    add("weir_worker_rule_denials_total", "Denials of each rule; those in shadow passed.",
        rules.map(({ id }) => [`{rule="${id}"}`, this.denials.get(id) ?? 0]));
    add("weir_worker_errors_total", "Requests that passed since the limiter went wrong.",
        [["", this.errors]]);
    if (store instanceof KvStore) {
      add("weir_worker_kv_failures_total", "What KV refused or garbled.",
          Object.entries(store.failures).map(([kind, count]) => [`{kind="${kind}"}`, count]));
      add("weir_worker_kv_operations_total", "Reads and writes of KV, failed ones too.",
          Object.entries(store.counts).map(([kind, count]) => [`{kind="${kind}"}`, count]));
    } else if (store !== undefined) {
      add("weir_worker_store_failures_total", "Calls that no object answered in time.",
          [["", store.failures]]);
    }
    return `${lines.join("\n")}\n`;
  }

  // A line a second at most, so that a flood of denials is none of lines.
  private log(fields: Record<string, unknown>): void {
    const now = Date.now();
    ++this.unlogged;
    if (now - this.loggedAt < LOG_EVERY_MS) return;
    console.log(JSON.stringify({ weir: fields, alike: this.unlogged }));
    this.loggedAt = now;
    this.unlogged = 0;
  }
}
