// The palette: one box that leads to every tab, rule and key, and to what the page does. It opens
// on "/" where nobody writes, and on Ctrl+K anywhere.

import { h, fill } from "./dom";
import { visible } from "./format";
import { address } from "./tab";
import { ruleNames } from "./written";

interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly go: () => void;
}

/** As many as a reader takes in at once. */
const SHOWN = 12;
const LIST = "palette-list";

class Palette {
  private entries: readonly Entry[] = [];
  private shown: readonly Entry[] = [];
  private chosen = 0;
  private readonly list = h("ul", { role: "listbox", id: LIST, "aria-label": "Where to go" });
  private readonly input = h("input", {
    type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", maxlength: 1024,
    placeholder: "A page, a rule, a key", "aria-label": "Go to", "aria-expanded": "true",
    "aria-controls": LIST, "aria-autocomplete": "list",
    oninput: () => this.draw(0), onkeydown: (event) => this.pressed(event as KeyboardEvent),
  });
  private readonly dialog: HTMLDialogElement = h("dialog", {
    class: "palette", "aria-label": "Go to",
    onclick: (event) => event.target === this.dialog && this.dialog.close(),
  }, this.input, this.list);

  open(): void {
    if (document.querySelector("dialog[open]")) return;
    document.body.append(this.dialog);
    this.entries = [...pages(), ...deeds()];
    this.input.value = "";
    this.dialog.showModal();
    this.draw(0);
    void ruleNames().then((names) => {
      this.entries = [...pages(), ...deeds(), ...names.map(ruleEntry)];
      this.draw(this.chosen);
    });
  }

  private draw(chosen: number): void {
    const text = this.input.value.trim();
    const words = text.toLowerCase().split(/\s+/);
    const found = this.entries.filter(({ name, kind }) =>
      words.every((word) => `${kind} ${name}`.toLowerCase().includes(word)));
    this.shown = [...found.slice(0, SHOWN), ...(text ? keyEntries(text) : [])];
    this.chosen = Math.max(0, Math.min(chosen, this.shown.length - 1));
    fill(this.list, ...this.shown.map(({ name, kind }, at) =>
      h("li", { role: "option", id: `${LIST}-${at}`, "aria-selected": String(at === this.chosen),
        onclick: () => this.go(at) }, h("span", {}, visible(name)), h("small", {}, kind))));
    this.input.setAttribute("aria-activedescendant", `${LIST}-${this.chosen}`);
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  private pressed(event: KeyboardEvent): void {
    const last = this.shown.length - 1;
    const next: Record<string, number> = {
      ArrowDown: this.chosen === last ? 0 : this.chosen + 1,
      ArrowUp: this.chosen === 0 ? last : this.chosen - 1,
    };
    if (event.key === "Enter") this.go(this.chosen);
    else if (event.key in next) this.draw(next[event.key]!);
    else return;
    event.preventDefault();
  }

  private go(at: number): void {
    this.dialog.close();
    this.shown[at]?.go();
  }
}

function pages(): Entry[] {
  return [...document.querySelectorAll<HTMLAnchorElement>("[role=tab]")].map((tab) =>
    ({ name: tab.textContent?.trim() ?? "", kind: "page", go: () => tab.click() }));
}

/** What the buttons of the header do. */
function deeds(): Entry[] {
  return [...document.querySelectorAll<HTMLButtonElement>(".tools button[data-deed]:not([hidden])")]
    .map((made) => ({ name: made.ariaLabel ?? made.textContent ?? "", kind: "action",
      go: () => made.click() }));
}

function ruleEntry(rule: string): Entry {
  return { name: rule, kind: "rule", go: () => lead("rules", { rule }) };
}

function keyEntries(key: string): Entry[] {
  const places = [["denials", "denials of this key"], ["keys", "this key"]] as const;
  return places.filter(([tab]) => document.getElementById(tab)).map(([tab, kind]) =>
    ({ name: key, kind, go: () => lead(tab, { key }) }));
}

function lead(tab: string, parameters: Record<string, string>): void {
  location.hash = address(tab, parameters);
}

export function startPalette(opener: HTMLElement): void {
  const palette = new Palette();
  opener.addEventListener("click", () => palette.open());
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement &&
      event.target.closest("input, textarea, select, [contenteditable]") !== null;
    const isPlain = event.key === "/" && !isTyping && !event.ctrlKey && !event.altKey;
    if (!isPlain && !(event.key === "k" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    palette.open();
  });
}
