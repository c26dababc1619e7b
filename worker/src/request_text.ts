// A request as rules.wasm reads it: wasm/rules.h says how. The headers of Fetch differ from those
// that a server sees, and what follows from that is done here.

// By hand: URL resolves paths in its own way.
const URL_PARTS = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/?#]*@)?([^/?#]*)([^?#]*)\??([^#]*)/i;

function plainHost(host: string): string {
  const name = host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.split(":")[0]!;
  return name.replace(/\.$/, "").toLowerCase();
}

// A line of credentials may have commas: "Digest name=value, name=value". Another begins otherwise.
const CREDENTIALS = new Set(["authorization", "proxy-authorization"]);
const PARAMETER = String.raw`[^\s,="]+=(?:"(?:[^"\\]|\\.)*"|[^\s,="][^\s,"]*)`;
const PARAMETERS = new RegExp(String.raw`^\S+ +${PARAMETER}(?: *, *${PARAMETER})*$`);

// Fetch joins the lines of a header. Those of these headers are lines again; in others a list in
// one line is as good as several lines: src/rules/request/header_values.h.
const areLines = (name: string, text: string): boolean =>
  name === "cookie" || (CREDENTIALS.has(name) && !PARAMETERS.test(text));

// A NUL ends a text. The module refuses other control characters, where Fetch has not.
const endless = (value: string): string =>
  value.includes("\0") ? value.replaceAll("\0", "\x01") : value;

export function requestText({ method, url, headers }: Request, country: string): string {
  const [, host = "", path = "/", query = ""] = URL_PARTS.exec(url) ?? [];
  const client = endless(headers.get("cf-connecting-ip") ?? "");
  let text = `${method}\0${plainHost(host)}\0${path}\0${query}\0${client}\0:country\0${country}\0`;
  for (const [name, sent] of headers) {
    const value = endless(sent);
    const lines = areLines(name, value) ? value.replaceAll(", ", `\0${name}\0`) : value;
    text += `${name}\0${lines}\0`;
  }
  // U+FFFD stands for any byte that is not UTF-8, so for one that some origin takes for a blank.
  return text.includes("\ufffd") ? text.replaceAll("\ufffd", "\x85") : text;
}
