// Run in the page: what is wrong with it for readers of screens, keyboards and weak eyes.
// Debian has no axe-core; these are the checks of it that apply to this page. Returns texts.

const found = [];
const MINIMUM = 4.5;
const LARGE_MINIMUM = 3;

function isSeen(element) {
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  return style.visibility !== "hidden" && box.width > 1 && box.height > 1 &&
    element.closest("[hidden]") === null;
}

function nameOf(element) {
  const by = element.getAttribute("aria-labelledby");
  const texts = [
    element.getAttribute("aria-label"),
    by && by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "),
    ...[...(element.labels ?? [])].map((label) => label.textContent),
    ["A", "BUTTON", "SUMMARY"].includes(element.tagName) ? element.textContent : "",
    element.getAttribute("title"),
  ];
  return (texts.find((text) => text && text.trim() !== "") ?? "").trim();
}

function describe(element) {
  const said = (element.textContent ?? "").trim().slice(0, 30);
  const marks = `${element.id ? `#${element.id}` : ""}.${element.getAttribute("class") ?? ""}`;
  return `<${element.tagName.toLowerCase()}${marks}> '${said}'`;
}

function parse(colour) {
  const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
  return { r, g, b, a };
}

function over(front, back) {
  const mix = (name) => front[name] * front.a + back[name] * (1 - front.a);
  return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
}

function backgroundOf(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    layers.push(parse(getComputedStyle(at).backgroundColor));
  }
  return layers.reverse().reduce((back, front) => over(front, back),
    { r: 255, g: 255, b: 255, a: 1 });
}

function luminance({ r, g, b }) {
  const [red, green, blue] = [r, g, b].map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(front, back) {
  const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function checkContrast(element) {
  const style = getComputedStyle(element);
  const back = backgroundOf(element);
  const ratio = contrast(over(parse(style.color), back), back);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (isLarge ? LARGE_MINIMUM : MINIMUM)) {
    found.push(`contrast ${ratio.toFixed(2)}: ${describe(element)}`);
  }
}

for (const element of document.querySelectorAll(
  "a[href], button, input, select, textarea, meter, progress, [role=tab], [role=tabpanel], " +
  "[role=log], dialog, [role=img]")) {
  if (isSeen(element) && nameOf(element) === "") found.push(`no name: ${describe(element)}`);
}
for (const element of document.querySelectorAll("body *")) {
  const hasText = [...element.childNodes].some(
    (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
  const isDisabled = element.closest(":disabled") !== null;
  if (hasText && isSeen(element) && !isDisabled) checkContrast(element);
}
for (const element of document.querySelectorAll("button, input:not([type=checkbox]), select")) {
  const box = element.getBoundingClientRect();
  if (isSeen(element) && (box.width < 24 || box.height < 24)) {
    found.push(`smaller than a finger: ${describe(element)}`);
  }
}
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of ids.filter((each, at) => ids.indexOf(each) !== at)) found.push(`two of #${id}`);
for (const element of document.querySelectorAll("[aria-controls], [aria-labelledby], [for]")) {
  for (const name of ["aria-controls", "aria-labelledby", "for"]) {
    const id = element.getAttribute(name);
    if (id && !document.getElementById(id)) found.push(`nothing is #${id}: ${describe(element)}`);
  }
}
for (const image of document.querySelectorAll("img:not([alt])")) {
  found.push(`no alt: ${describe(image)}`);
}
if (document.querySelectorAll("main h1").length === 0) found.push("no h1");
if (document.documentElement.lang === "") found.push("no language");
return found;
