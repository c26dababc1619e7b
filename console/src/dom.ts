// Makes elements. Texts become text nodes, so nothing that a server says is ever markup.

import { visible } from "./format";
import { ICONS, type IconName } from "./icons";

export type Child = Node | string | number | null | undefined | false;
/** A longer text is cut by the style sheet. */
const LONG = 60;
type Handler = (event: Event) => void;
type Attribute = string | number | boolean | Handler | undefined;

/** h("button", { class: "plain", onclick: save }, "Save") */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(made, name, value);
  made.append(...nodes(children));
  return made;
}

function set(element: HTMLElement, name: string, value: Attribute): void {
  if (typeof value === "function") element.addEventListener(name.slice(2), value);
  else if (value === true) element.setAttribute(name, "");
  else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
}

function nodes(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) =>
    child === null || child === undefined || child === false ? []
      : [child instanceof Node ? child : String(child)]);
}

/** Puts these in place of all that is in the element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...nodes(children));
}

/** Changes a text only if it is another one, so that readers of screens hear it once. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A message with its level. */
export function tell(element: Element, level: string, text: string): void {
  element.className = `message ${level}`;
  say(element, text);
}

/** Into the clipboard; where that is shut, the text is at the place. */
export async function copy(text: string, place: HTMLElement, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(place, "good", done);
  } catch {
    tell(place, "bad", text);
  }
}

/** An icon of ours; what it means is said in words next to it. */
export function icon(name: IconName): SVGElement {
  const parsed = new DOMParser().parseFromString(ICONS[name], "image/svg+xml").documentElement;
  const drawn = document.importNode(parsed, true) as unknown as SVGElement;
  drawn.setAttribute("class", "icon");
  drawn.setAttribute("aria-hidden", "true");
  return drawn;
}

export function button(
  label: string, onclick: () => unknown, attributes: Record<string, Attribute> = {},
  drawn?: IconName,
): HTMLButtonElement {
  return h("button", { type: "button", onclick: () => void onclick(), ...attributes },
    drawn ? icon(drawn) : null, h("span", {}, label));
}

let numbers = 0;

/** An id that no other element has. */
export function unique(prefix: string): string {
  return `${prefix}-${++numbers}`;
}

/** A control with its label above. */
export function field(label: string, control: HTMLElement, hint?: string): HTMLElement {
  control.id ||= unique("field");
  const about = hint ? h("small", { id: `${control.id}-hint` }, hint) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, about);
}

export function option(value: string, text = value): HTMLOptionElement {
  return h("option", { value }, text);
}

/** A list to choose from that is longer holds a browser up. */
export const OFFERED_MAX = 1000;

/** Offers these values and `wanted`, and chooses `wanted`, or keeps what was chosen. */
export function offer(select: HTMLSelectElement, values: readonly string[], wanted = ""): void {
  const chosen = wanted || (values.includes(select.value) ? select.value : "");
  const offered = values.slice(0, OFFERED_MAX);
  if (chosen && !offered.includes(chosen)) offered.push(chosen);
  const same = offered.every((value, at) => select.options[at]?.value === value) &&
    offered.length === select.options.length;
  if (!same) fill(select, ...offered.map((value) => option(value)));
  if (values.length > OFFERED_MAX) {
    select.title = `${OFFERED_MAX} of ${values.length} rules. Press / to find any.`;
  }
  if (chosen) select.value = chosen;
}

/** What somebody else has written: in no other direction than ours, and nothing in it is hidden. */
export function verbatim(text: string): HTMLElement {
  return h("code", { title: text.length > LONG ? visible(text) : undefined }, visible(text));
}

export function badge(text: string, level: string): HTMLElement {
  return h("span", { class: `badge ${level}` }, text);
}

/** Puts one in place of another that looks different. The focus goes to the control that looks the
    same, or has the same place. */
export function swap(old: Element, made: Element): void {
  if (old.isEqualNode(made)) return;
  const focused = document.activeElement as HTMLElement;
  const at = controls(old).indexOf(focused);
  old.replaceWith(made);
  if (at < 0) return;
  const after = controls(made);
  (after.find((one) => one.isEqualNode(focused)) ?? after[at])?.focus();
}

export function controls(place: Element): HTMLElement[] {
  return [...place.querySelectorAll<HTMLElement>("a, button, input, select")];
}

/** Makes an element look as another; what looks so already stays. */
export function renew(old: Element, made: Element): void {
  old.className = made.className;
  const children = [...made.children];
  children.forEach((child, at) => {
    const there = old.children[at];
    if (there) swap(there, child);
    else old.append(child);
  });
  while (old.children.length > children.length) old.lastElementChild!.remove();
}
