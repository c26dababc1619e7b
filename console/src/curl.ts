// Reads a curl command as people copy it from browsers and documents. Pure; nothing is sent.

export interface DescribedRequest {
  method: string;
  path: string;
  host: string;
  headers: Record<string, string>;
}

export type Curl = { request: DescribedRequest } | { problem: string };

export const COMMAND_MAX = 32_768;

/** Options with a value that say nothing about which rules match. */
const WITH_VALUE = new Set(`-o --output -m --max-time --connect-timeout -x --proxy --retry -w
  --write-out --cacert --capath -E --cert --key --resolve -c --cookie-jar -K --config --interface
  --limit-rate -y -Y -z -C --continue-at -D --dump-header --unix-socket -T --upload-file -r --range
  --connect-to --ciphers -F --form --max-redirs --retry-delay --noproxy --dns-servers -t -P
  --form-string -U --proxy-user --tls-max --http-version`.split(/\s+/));
const DATA = new Set(`-d --data --data-raw --data-binary --data-ascii --data-urlencode
  --json`.split(/\s+/));
/** One letter that takes a value, which may follow without a space: -XPOST. */
const SHORT_WITH_VALUE = "XHdAbeuomxwEcKTrFDCUzytP";

export function parseCurl(command: string): Curl {
  if (command.length > COMMAND_MAX) return { problem: "This command is too long." };
  const words = shellWords(command.trim().replace(/^\$ +/, ""));
  if (typeof words === "string") return { problem: words };
  if (words[0] !== "curl") return { problem: "This is no curl command: it begins with 'curl'." };
  const read = readArguments(words.slice(1));
  if (read.problem) return { problem: read.problem };
  if (read.url === undefined) return { problem: "The command has no URL." };
  return described(read);
}

interface Read {
  url?: string;
  method?: string;
  headers: Record<string, string>;
  data: string[];
  asQuery: boolean;
  head: boolean;
  problem?: string;
}

function readArguments(words: readonly string[]): Read {
  const read: Read = { headers: {}, data: [], asQuery: false, head: false };
  const expanded = words.flatMap(expand);
  for (let at = 0; at < expanded.length; at++) {
    const word = expanded[at]!;
    if (!word.startsWith("-") || word === "-") {
      read.url ??= word;
    } else if (takesValue(word)) {
      const value = expanded[++at];
      if (value === undefined) return { ...read, problem: `${word} has no value.` };
      apply(read, word, value);
    } else {
      flag(read, word);
    }
  }
  return read;
}

/** --name=value and -XPOST as two words, -sSL as three. */
function expand(word: string): string[] {
  const long = /^(--[a-z0-9-]+)=([^]*)$/.exec(word);
  if (long) return [long[1]!, long[2]!];
  if (!/^-[A-Za-z]./.test(word)) return [word];
  const flags: string[] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = word[at]!;
    flags.push(`-${letter}`);
    if (!SHORT_WITH_VALUE.includes(letter)) continue;
    if (at + 1 < word.length) flags.push(word.slice(at + 1));
    break;
  }
  return flags;
}

function takesValue(word: string): boolean {
  const names = ["-X", "--request", "-H", "--header", "-A", "--user-agent", "-b", "--cookie", "-e",
    "--referer", "-u", "--user", "--url", "--oauth2-bearer"];
  return names.includes(word) || DATA.has(word) || WITH_VALUE.has(word);
}

function apply(read: Read, word: string, value: string): void {
  if (word === "-X" || word === "--request") read.method = value;
  else if (word === "-H" || word === "--header") header(read, value);
  else if (word === "-A" || word === "--user-agent") setHeader(read, "User-Agent", value);
  else if (word === "-b" || word === "--cookie") setHeader(read, "Cookie", value);
  else if (word === "-e" || word === "--referer") setHeader(read, "Referer", value);
  else if (word === "-u" || word === "--user") setHeader(read, "Authorization", basic(value));
  else if (word === "--oauth2-bearer") setHeader(read, "Authorization", `Bearer ${value}`);
  else if (word === "--url") read.url ??= value;
  else if (DATA.has(word)) data(read, word, value);
  else if (word === "-T" || word === "--upload-file") read.method ??= "PUT";
  else if (word === "-F" || word === "--form") read.method ??= "POST";
}

function data(read: Read, word: string, value: string): void {
  read.data.push(value);
  if (word !== "--json") return;
  setHeader(read, "Content-Type", "application/json");
  setHeader(read, "Accept", "application/json");
}

function flag(read: Read, word: string): void {
  if (word === "-G" || word === "--get") read.asQuery = true;
  if (word === "-I" || word === "--head") read.head = true;
  if (word === "--compressed") setHeader(read, "Accept-Encoding", "deflate, gzip, br");
}

function header(read: Read, line: string): void {
  const colon = line.indexOf(":");
  if (colon > 0) setHeader(read, line.slice(0, colon).trim(), line.slice(colon + 1).trim());
}

function setHeader(read: Read, name: string, value: string): void {
  takeHeader(read, name);
  read.headers[name] = value;
}

/** Its value; it is no header any more. */
function takeHeader(read: Read, name: string): string | undefined {
  const same = Object.keys(read.headers).find((each) => each.toLowerCase() === name.toLowerCase());
  if (same === undefined) return undefined;
  const value = read.headers[same];
  delete read.headers[same];
  return value;
}

function basic(user: string): string {
  const bytes = new TextEncoder().encode(user);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

function described(read: Read): Curl {
  const address = read.url!.includes("://") ? read.url! : `http://${read.url!}`;
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return { problem: `'${read.url}' is no URL.` };
  }
  let path = url.pathname + url.search;
  const sends = read.data.length > 0 && !read.asQuery;
  if (read.asQuery && read.data.length > 0) {
    path += (url.search ? "&" : "?") + read.data.join("&");
  }
  const hasType = Object.keys(read.headers).some((name) => name.toLowerCase() === "content-type");
  if (sends && !hasType) setHeader(read, "Content-Type", "application/x-www-form-urlencoded");
  const method = read.method ?? (read.head ? "HEAD" : sends ? "POST" : "GET");
  const host = takeHeader(read, "Host") ?? url.hostname;
  return { request: { method: method.toUpperCase(), path, host, headers: read.headers } };
}

/** What comes between two words, and the pieces of a word: three kinds of quotes, a quotation mark
    that is never closed, an escaped letter, and what stands for itself. */
const PIECE = new RegExp([/((?:[ \t\r\n]|[\\^]\r?\n)+)/, /\$'((?:\\[^]|[^'\\])*)'/, /'([^']*)'/,
  /"((?:\\[^]|[^"\\])*)"/, /(\$?'|")/, /\\([^]?)/, /([^])/].map(({ source }) => source).join("|"),
"g");
const ESCAPED = /\\(?:u([0-9a-fA-F]{4})|([^]))/g;
const ANSI: Record<string, string> = { n: "\n", t: "\t", r: "\r", "'": "'", '"': '"', "\\": "\\" };

/** The words as a shell of Unix splits them, or what is wrong. It expands nothing. */
export function shellWords(text: string): string[] | string {
  const words: string[] = [];
  let isInWord = false;
  for (const [, space, ansi, single, double, open, escaped, plain] of text.matchAll(PIECE)) {
    if (open) return "A quotation mark is never closed.";
    if (!space && !isInWord) words.push("");
    isInWord = !space;
    if (space) continue;
    words[words.length - 1] += single ?? escaped ?? plain ?? double?.replace(
      /\\(["\\$`]|\n)/g, (_, letter: string) => letter.trim()) ?? unescaped(ansi ?? "");
  }
  return words;
}

/** Between $' and '. */
function unescaped(text: string): string {
  return text.replace(ESCAPED, (all: string, code?: string, letter?: string) =>
    code ? String.fromCharCode(parseInt(code, 16)) : ANSI[letter!] ?? all);
}
