// Reads a curl command as people copy it from browsers and documents. Pure; nothing is sent.

export interface DescribedRequest {
  method: string;
  path: string;
  host: string;
  headers: Record<string, string>;
}

export type Curl = { request: DescribedRequest } | { problem: string };

export const COMMAND_MAX = 32_768;

type Take = (read: Read, value: string) => unknown;

/** The options with a value, and what it says about which rules match: of most of them, nothing. */
const WITH_VALUE: ReadonlyMap<string, Take> = new Map([
  ...each(`-o --output -m --max-time --connect-timeout -x --proxy --retry -w --write-out --cacert
    --capath -E --cert --key --resolve -c --cookie-jar -K --config --interface --limit-rate -y -Y
    -z -C --continue-at -D --dump-header --unix-socket -r --range --connect-to --ciphers
    --max-redirs --retry-delay --noproxy --dns-servers -t -P --form-string -U --proxy-user
    --tls-max --http-version`, () => undefined),
  ...each("-X --request", (read, value) => (read.method = value)),
  ...each("-T --upload-file", (read) => (read.method ??= "PUT")),
  ...each("-F --form", (read) => (read.method ??= "POST")),
  ...each("--url", (read, value) => (read.url ??= value)),
  ...each("-H --header", header),
  ...each("-A --user-agent", (read, value) => setHeader(read, "User-Agent", value)),
  ...each("-b --cookie", (read, value) => setHeader(read, "Cookie", value)),
  ...each("-e --referer", (read, value) => setHeader(read, "Referer", value)),
  ...each("-u --user", (read, value) => setHeader(read, "Authorization", basic(value))),
  ...each("--oauth2-bearer", (read, value) =>
    setHeader(read, "Authorization", `Bearer ${value}`)),
  ...each("-d --data --data-raw --data-binary --data-ascii --data-urlencode",
    (read, value) => read.data.push(value)),
  ...each("--json", (read, value) => {
    read.data.push(value);
    setHeader(read, "Content-Type", "application/json");
    setHeader(read, "Accept", "application/json");
  }),
]);

function each(names: string, take: Take): [string, Take][] {
  return names.split(/\s+/).map((name) => [name, take]);
}

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
    } else if (WITH_VALUE.has(word)) {
      const value = expanded[++at];
      if (value === undefined) return { ...read, problem: `${word} has no value.` };
      WITH_VALUE.get(word)!(read, value);
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
    const flag = `-${word[at]}`;
    flags.push(flag);
    if (!WITH_VALUE.has(flag)) continue;
    if (at + 1 < word.length) flags.push(word.slice(at + 1));
    break;
  }
  return flags;
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
