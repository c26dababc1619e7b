// The page: its header, its tabs, and who may see what. index.html has the frame, so that the
// first paint is the last one's shape.

import { api } from "./api";
import { DenialsTab } from "./denials_tab";
import { fill, icon, say } from "./dom";
import { ExplainTab } from "./explain_tab";
import { FleetTab } from "./fleet_tab";
import type { IconName } from "./icons";
import { KeysTab } from "./keys_tab";
import { feed } from "./live";
import { OverviewTab } from "./overview_tab";
import { startPalette } from "./palette";
import { openSignIn } from "./sign_in";
import { RulesTab } from "./rules_tab";
import { session } from "./session";
import { SimulatorTab } from "./simulator_tab";
import { Tab } from "./tab";
import { isDark, startTheme, switchTheme, theme } from "./theme";
import { clock, span } from "./format";

/** In the order of index.html. */
const ELEMENTS = { overview: OverviewTab, denials: DenialsTab, rules: RulesTab, keys: KeysTab,
  explain: ExplainTab, simulator: SimulatorTab, fleet: FleetTab };
type Name = keyof typeof ELEMENTS;
const TABS = Object.keys(ELEMENTS) as Name[];
const STATUS = {
  connecting: "Connecting",
  live: "Live",
  polling: "Polling: something in between lets no WebSocket pass",
  lost: "Disconnected, trying again",
  refused: "The server shows its figures only to people who have signed in",
} as const;
const SHUT = "The server shows its figures to nobody until it is started with an admin token";

function element(id: string): HTMLElement {
  return document.getElementById(id)!;
}

function tabOf(name: Name): HTMLElement {
  return element(`tab-${name}`);
}

/** "#/explain?rule=demo" */
function where(): { name: Name; parameters: URLSearchParams } {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { name: TABS.find((name) => name === path) ?? "overview",
    parameters: new URLSearchParams(query ?? "") };
}

let shownName: Name | undefined;

function route(): void {
  const { name, parameters } = where();
  for (const each of TABS) {
    const chosen = each === name;
    const panel = element(each) as Tab;
    tabOf(each).setAttribute("aria-selected", String(chosen));
    tabOf(each).tabIndex = chosen ? 0 : -1;
    if (!chosen && !panel.hidden) panel.hide();
    panel.hidden = !chosen;
  }
  if (shownName !== name) window.scrollTo(0, 0);
  shownName = name;
  document.title = `${tabOf(name).textContent?.trim() ?? ""} · Weir`;
  (element(name) as Tab).show(parameters);
}

function moveBetweenTabs(event: KeyboardEvent): void {
  const at = TABS.findIndex((name) => tabOf(name) === document.activeElement);
  if (at < 0) return;
  const last = TABS.length - 1;
  const [after, before] = [at === last ? 0 : at + 1, at === 0 ? last : at - 1];
  const steps: Record<string, number> = { ArrowRight: after, ArrowDown: after, ArrowLeft: before,
    ArrowUp: before, Home: 0, End: last };
  const next = steps[event.key];
  if (next === undefined && event.key !== " ") return;
  event.preventDefault();
  const name = TABS[next ?? at]!;
  location.hash = `#/${name}`;
  tabOf(name).focus();
}

function showStatus(): void {
  const isOld = feed.isOld();
  element("status").dataset.status = isOld ? "lost" : feed.status;
  say(element("status-text"), session.isShut ? SHUT
    : isOld && feed.status === "live" ? "Silent" : STATUS[feed.status]);
  document.body.classList.toggle("old", isOld);
  const old = element("old");
  old.hidden = !isOld;
  if (!isOld) return;
  say(old, `Old figures, as of ${clock(feed.last?.t)}: nothing has come since.`);
}

function showNode(): void {
  const { last } = feed;
  const name = feed.titleOf(last?.node ?? session.node);
  const version = last?.version ?? session.version;
  const up = last?.uptime === undefined ? "" : `, up ${span(last.uptime)}`;
  say(element("node"), name || version ? `${name} ${version}${up}`.trim() : "");
}

function showSession(): void {
  const sign = element("sign");
  sign.hidden = !session.needed;
  say(sign, session.signedIn ? "Sign out" : "Sign in");
  showNode();
  showStatus();
}

async function signInOrOut(): Promise<void> {
  if (session.signedIn) {
    await session.signOut();
    location.reload();  // which forgets what only the session may know
  } else {
    openSignIn(begin);
  }
}

function showTheme(): void {
  fill(element("theme"), icon(isDark() ? "sun" : "moon"));
}

/** At the start, and after somebody has signed in or out. */
function begin(): void {
  if (session.mayChange || session.public) feed.start();
  else feed.refuse();
  route();
}

/** A session ends by itself, too; then the page learns it here. */
function wantSignIn(): void {
  openSignIn(begin);
  void session.load();
}

async function start(): Promise<void> {
  startTheme();
  showTheme();
  for (const name of TABS) {
    tabOf(name).querySelector(".icon")!.replaceWith(icon(tabOf(name).dataset.icon as IconName));
  }
  element("tabs").addEventListener("keydown", moveBetweenTabs);
  element("theme").addEventListener("click", switchTheme);
  element("sign").addEventListener("click", () => void signInOrOut());
  theme.addEventListener("change", showTheme);
  startPalette(element("find"));
  feed.addEventListener("status", showStatus);
  feed.addEventListener("message", showNode);
  for (const news of ["message", "age"]) feed.addEventListener(news, showStatus);
  session.addEventListener("change", showSession);
  api.addEventListener("signin", wantSignIn);
  feed.addEventListener("ended", () => void session.load());
  feed.addEventListener("status", () => feed.status === "refused" && void session.load());
  window.addEventListener("hashchange", route);
  await session.load();
  begin();
  if (!session.mayChange && !session.public && !session.isShut) openSignIn(begin);
}

for (const name of TABS) customElements.define(`weir-${name}`, ELEMENTS[name]);
void start();
