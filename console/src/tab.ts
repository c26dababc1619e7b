// What the tabs have in common.

import { feed } from "./live";

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

export function address(tab: string, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}
