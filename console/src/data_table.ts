// The table of every page: sorts by its headings, searches, draws fifty rows at a time.
//
// Rows may be shown again each second: what looks the same stays, so handlers of a cell go by ids
// and not by the row that made it. Nobody loses the focus. While the pointer or the focus is among
// them, rows keep their places and new ones wait: no button moves away under a finger.
// Tested by test/data_table.test.mjs and tests/console/denials_test.py.

import { type Child, button, controls, fill, h, say, swap } from "./dom";
import { exact } from "./format";

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => Child;
  /** What the heading sorts by; without it, it does not. */
  readonly by?: (row: T) => number | string | undefined;
  /** Figures, at the right edge. */
  readonly figures?: boolean;
}

export interface Shape<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly id: (row: T) => string;
  /** What to do where there is no row. */
  readonly empty: Child;
  /** What a reader searches in; without it there is no search. */
  readonly text?: (row: T) => string;
  /** The order at the start; without it, that of the rows. */
  readonly sort?: { readonly title: string; readonly falls: boolean };
}

/** A browser draws so many without a hitch. */
export const PAGE = 50;
/** Nobody searches in fewer rows. */
const FEW = 10;
const ORDER = new Intl.Collator("en", { numeric: true });

export class DataTable<T> {
  private rows: readonly T[] = [];
  private isKnown = false;
  private order: string[] = [];
  private sort: Shape<T>["sort"];
  private page = 0;
  private readonly drawn = new Map<string, HTMLTableRowElement>();
  private readonly body = h("tbody");
  private readonly heads = new Map<Column<T>, HTMLTableCellElement>();
  private readonly sheet: HTMLTableElement;
  private readonly nothing = h("p", { class: "empty" });
  private readonly place = h("span", { role: "status" });
  private readonly before = button("Previous", () => this.turn(-1), { class: "small" });
  private readonly after = button("Next", () => this.turn(1), { class: "small" });
  private readonly pages = h("div", { class: "pages" }, this.place, this.before, this.after);
  private readonly search: HTMLInputElement | null;
  readonly element: HTMLElement;

  constructor(private readonly shape: Shape<T>) {
    this.sort = shape.sort;
    this.search = shape.text ? h("input", { type: "search", placeholder: "Search",
      "aria-label": `Search: ${shape.caption}`, spellcheck: "false",
      oninput: () => this.again() }) : null;
    for (const column of shape.columns) this.heads.set(column, this.head(column));
    this.sheet = h("table", {}, h("caption", { class: "hidden" }, shape.caption),
      h("thead", {}, h("tr", {}, ...this.heads.values())), this.body);
    this.element = h("div", { class: "data" }, this.search, this.sheet, this.nothing, this.pages);
    this.show(undefined);
  }

  /** undefined: nobody knows. */
  show(rows: readonly T[] | undefined): void {
    this.isKnown = rows !== undefined;
    this.rows = rows ?? [];
    const { shape, sort } = this;
    const found = searched(this.rows, shape.text, this.search?.value ?? "");
    const sorted = inOrder(found, shape.columns.find(({ title }) => title === sort?.title)?.by,
      sort?.falls ?? false);
    const kept = this.isHeld() ? asBefore(sorted, shape.id, this.order) : sorted;
    this.order = kept.map(shape.id);
    this.draw(kept, sorted.length - kept.length);
  }

  private isHeld(): boolean {
    return this.order.length > 0 && (this.body.matches(":hover") ||
      this.body.contains(document.activeElement));
  }

  /** As somebody has just asked for it. */
  private again(): void {
    this.page = 0;
    this.order = [];
    this.show(this.isKnown ? this.rows : undefined);
  }

  private turn(by: number): void {
    this.page += by;
    this.show(this.rows);
    this.sheet.scrollIntoView({ block: "nearest" });
  }

  private head(column: Column<T>): HTMLTableCellElement {
    const { title, by, figures } = column;
    const name = by ? button(title, () => this.sortBy(column), { class: "sort" }) : title;
    return h("th", { scope: "col", class: figures ? "figures" : undefined }, name);
  }

  private sortBy({ title, figures }: Column<T>): void {
    const falls = this.sort?.title === title ? !this.sort.falls : figures === true;
    this.sort = { title, falls };
    this.again();
  }

  private draw(rows: readonly T[], waiting: number): void {
    const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const begin = this.page * PAGE;
    this.drawRows(rows.slice(begin, begin + PAGE));
    this.sheet.hidden = rows.length === 0;
    this.nothing.hidden = rows.length > 0;
    if (rows.length === 0) {
      const empty = this.isKnown ? this.shape.empty : "Not known.";
      fill(this.nothing, this.rows.length === 0 ? empty
        : "No row has these words. Search for others.");
    }
    if (this.search) this.search.hidden = this.rows.length <= FEW && this.search.value === "";
    this.pages.hidden = last === 0 && waiting === 0;
    const more = waiting > 0 ? `. ${exact(waiting)} more when you leave the rows.` : "";
    say(this.place, `${exact(begin + 1)} to ${exact(Math.min(begin + PAGE, rows.length))} of ` +
      exact(rows.length) + more);
    this.before.hidden = this.after.hidden = last === 0;
    this.before.disabled = this.page === 0;
    this.after.disabled = this.page === last;
    for (const [{ title }, head] of this.heads) {
      if (this.sort?.title !== title) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.sort.falls ? "descending" : "ascending");
    }
  }

  private drawRows(rows: readonly T[]): void {
    const wanted = new Map(rows.map((row) => [this.shape.id(row), row]));
    const lost = this.removeOthers(wanted);
    let at = 0;
    for (const [id, row] of wanted) {
      const line = this.drawn.get(id) ?? h("tr", { "data-row": id });
      this.drawn.set(id, line);
      this.drawCells(row, line);
      const there = this.body.children[at++] ?? null;
      if (there !== line) this.body.insertBefore(line, there);
    }
    const near = this.body.children[Math.min(lost, at - 1)];
    if (near) controls(near)[0]?.focus();
  }

  /** The place of the row that had the focus and is gone; -1: there is none. */
  private removeOthers(wanted: ReadonlyMap<string, T>): number {
    let lost = -1;
    [...this.body.children].forEach((line, at) => {
      const id = (line as HTMLElement).dataset.row!;
      if (wanted.has(id)) return;
      if (line.contains(document.activeElement)) lost = at;
      line.remove();
      this.drawn.delete(id);
    });
    return lost;
  }

  /** A narrow screen stacks cells, which name their columns. */
  private drawCells(row: T, line: HTMLTableRowElement): void {
    this.shape.columns.forEach(({ title, cell, figures }, at) => {
      const made = h("td", { "data-column": title, class: figures ? "figures" : undefined },
        cell(row));
      const old = line.cells[at];
      if (!old) return line.append(made);
      swap(old, made);
    });
  }
}

/** Those that have every word. */
export function searched<T>(
  rows: readonly T[], text: ((row: T) => string) | undefined, said: string,
): readonly T[] {
  const words = said.toLowerCase().split(/\s+/).filter(Boolean);
  if (!text || words.length === 0) return rows;
  return rows.filter((row) => {
    const all = text(row).toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** What is not known comes last, whichever way the others go. Equal rows keep their order. */
export function inOrder<T>(
  rows: readonly T[], by: Column<T>["by"], falls: boolean,
): readonly T[] {
  if (!by) return rows;
  const compared = rows.map((row) => [by(row), row] as const);
  compared.sort(([one], [other]) => {
    if (one === undefined || other === undefined) {
      return Number(one === undefined) - Number(other === undefined);
    }
    const rises = typeof one === "number" && typeof other === "number" ? one - other
      : ORDER.compare(String(one), String(other));
    return falls ? -rises : rises;
  });
  return compared.map(([, row]) => row);
}

/** Those that had a place, in their places. */
export function asBefore<T>(
  rows: readonly T[], id: (row: T) => string, order: readonly string[],
): readonly T[] {
  const named = new Map(rows.map((row) => [id(row), row]));
  return order.flatMap((name) => named.has(name) ? [named.get(name)!] : []);
}
