// Counts in windows that begin with a key's first hit, as users of express-rate-limit know them:
// in this process's memory, as no other store has such windows.

import { decisionOf, VERDICT_ALLOWED, type Decision } from "../decision.js";
import type { Quota } from "../quota.js";
import type { SyncStore } from "../store.js";

interface Window {
  units: number;
  endsAt: number;  // in ms
}

export class FirstHitWindows implements SyncStore {
  // All are of one length: whichever began first ends first.
  private readonly windows = new Map<string, Window>();

  constructor(private readonly maxKeys: number) {}

  /** Counts whatever the limit says. REQUIRES: one quota and one bucket */
  spend({ limit, windowUs }: Quota, _bucket: string, key: string, cost: number,
        now: number): Decision {
    const known = this.windows.get(key);
    const isOn = known !== undefined && now < known.endsAt;
    const window = isOn ? known : { units: 0, endsAt: Infinity };
    window.endsAt = Math.min(window.endsAt, now + windowUs / 1000);  // a clock may step back
    window.units = Math.max(0, window.units + cost);
    if (!isOn && cost > 0) this.begin(key, window, now);
    const leftUs = isOn || cost > 0 ? 1000 * (window.endsAt - now) : 0;
    const remaining = Math.max(0, limit - window.units);
    return decisionOf(VERDICT_ALLOWED, limit, remaining, 0, leftUs, leftUs, 1000 * now);
  }

  reset(_quota: Quota, _bucket: string, key: string): void {
    this.windows.delete(key);
  }

  private begin(key: string, window: Window, now: number): void {
    this.windows.delete(key);
    for (const [oldest, { endsAt }] of this.windows) {
      if (now < endsAt && this.windows.size < this.maxKeys) break;
      this.windows.delete(oldest);
    }
    this.windows.set(key, window);
  }
}
