// What the tabs have in common.

import { feed } from "./live";
import { ask } from "./api";
import * as json from "./json";
import { session } from "./session";

/** A panel of the page. The shell tells it when people look at it. */
export abstract class Tab extends HTMLElement {
  private built = false;
  protected shown = false;
  private timer = 0;

  /** Makes the elements, once. */
  protected abstract build(): void;

  /** New figures have come, and people look at them. */
  protected refresh(): void {}

  /** People look at it now; `parameters` are those of the address. */
  protected opened(_parameters: URLSearchParams): void {}

  protected closed(): void {}

  /** While people look at the tab. */
  protected loadEach(everyMs: number, load: () => unknown): void {
    window.clearInterval(this.timer);
    this.timer = window.setInterval(load, everyMs);
  }

  show(parameters: URLSearchParams): void {
    if (!this.built) {
      this.build();
      this.built = true;
      for (const news of ["message", "age"]) {
        feed.addEventListener(news, () => {
          if (this.shown) this.refresh();
        });
      }
    }
    this.shown = true;
    this.opened(parameters);
    this.refresh();
  }

  hide(): void {
    this.shown = false;
    window.clearInterval(this.timer);
    if (this.built) this.closed();
  }
}

/** A list to choose from that is longer holds a browser up. */
const NAMES_MAX = 1000;

/** The ids of the rules, as well as this page may know them. */
export async function ruleNames(most = NAMES_MAX): Promise<string[]> {
  const seen = (feed.last?.rules ?? []).map((line) => line.rule);
  if (!session.mayChange) return seen.filter((name) => name !== "");
  const reply = await ask("/admin/rules");
  const written = json.objects(reply.body.rules).map((rule) => json.text(rule.id) ?? "");
  return (reply.ok ? written : seen).filter((name) => name !== "").slice(0, most);
}

export function address(tab: string, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}
