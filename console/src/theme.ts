// Light and dark: as the system says, unless somebody has switched. dark.css is a sheet of its
// own; whether it holds is in the link's `media`.

import { keep, kept } from "./kept";

const KEPT = "weir-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

/** Event: "change", after which colours have to be read again. */
export const theme = new EventTarget();

function sheet(): HTMLLinkElement {
  return document.getElementById("dark") as HTMLLinkElement;
}

export function isDark(): boolean {
  return window.matchMedia(sheet().media).matches;
}

export function startTheme(): void {
  const chosen = kept(KEPT);
  if (chosen) sheet().media = chosen === "dark" ? "all" : "not all";
  system.addEventListener("change", () => theme.dispatchEvent(new Event("change")));
}

export function switchTheme(): void {
  const next = isDark() ? "light" : "dark";
  sheet().media = next === "dark" ? "all" : "not all";
  keep(KEPT, next);
  theme.dispatchEvent(new Event("change"));
}

/** A colour of the style sheets. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
