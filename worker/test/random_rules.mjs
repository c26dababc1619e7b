// Rules and requests by chance, from texts that YAML, JavaScript and the server may read in
// different ways. Each rule is a line of YAML, in a group of its own.

const SCALARS = ["5", "1.50", "1e3", "-0", "true", "no", "web*", "'*'", '"5"', "'a, b'", "日本*",
                 "''", "0x1F", '"a;b"', "2026-11-23", "12:30", "NaN", "1_000", '"\\u00e0"'];
const NETWORKS = ["10.0.0.0/8", "192.0.2.1", "::ffff:10.0.0.0/104", "2001:db8::/32", "::/0",
                  "0.0.0.0/0", "64:ff9b::c000:0/112", "2001:DB8:0::1", "'::ffff:192.0.2.1'"];
const PATHS = ["/*", "/a", "/a/*", "'*b'", "/a*b*c", "/%61", "/日本", "/a;x", "//a", "/A", "/5"];
const HOSTS = ["5", "1.50", "'*.test'", "www.a.test", "127.0.0.1", "1e3", "true"];
const PARTS = ["client", "client/24/48", "client/0/0", "method", "host", "path", "country",
               "header:X-A", "header:x-b", "header:Cookie", "header:Authorization",
               "header:User-Agent", "query:q", "query:5", "query:a=b", "cookie:c", "cookie:5"];
const TEMPLATES = ["5", "1.50", "''", "'{{key}}'", "'{{header:a b}}'", "'{{header:ü}}'",
                   "'{{client/8/16}} {{limit}}'", "'{{query:ü}}{{cookie:c}}'", "true", "'}}'"];
const ZONES = ["UTC", "GMT", "Europe/Berlin", "localtime", "posix/Europe/Berlin", "Etc/GMT+5",
               "right/UTC", "Japan", "Factory", "EST5EDT", "America/Argentina/Buenos_Aires"];
const LIMITS = ["0", "1", "7", "1000000000000", "999999999999"];
const WINDOWS = ["1ms", "1m", "366d", "0.000001", "1.5", "1h30m", "90", "0.001001",
                 "31622399.999999"];
const BURSTS = ["1", "3", "1464", "1000000000000", "998861496"];

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  below(bound) {
    this.state = (Math.imul(this.state ^ (this.state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (this.state >>> 8) % bound;
  }
  in(percent) {
    return this.below(100) < percent;
  }
  of(list) {
    return list[this.below(list.length)];
  }
  /** One as it is, or a list. */
  someOf(list) {
    if (this.in(60)) return this.of(list);
    return `[${Array.from({ length: 1 + this.below(3) }, () => this.of(list)).join(", ")}]`;
  }
}

// A field in so many of a hundred.
function add(fields, random, percent, name, make) {
  if (random.in(percent)) fields.push(`${name}: ${make()}`);
}

const map = (fields) => `{ ${fields.join(", ")} }`;

function listOfMaps(random, make) {
  return `[${Array.from({ length: 1 + random.below(2) }, make).join(", ")}]`;
}

function propertyOf(random, names) {
  const fields = [`name: ${random.of(names)}`];
  add(fields, random, 70, "value", () => random.of(SCALARS));
  return map(fields);
}

function matchOf(random, depth = 0) {
  const fields = [];
  const properties = (names) => () => listOfMaps(random, () => propertyOf(random, names));
  add(fields, random, 10, "method", () => random.someOf(["GET", "POST", "TRUE"]));
  add(fields, random, 10, "host", () => random.someOf(HOSTS));
  if (random.in(30)) {
    fields.push(`path: ${random.someOf(PATHS)}`);
    add(fields, random, 30, "case", () => random.of(["sensitive", "insensitive"]));
    add(fields, random, 30, "trailing_slash", () => random.of(["distinct", "same"]));
  }
  add(fields, random, 10, "country", () => random.someOf(["DE", "NO", "T1"]));
  add(fields, random, 15, "client", () => random.someOf(NETWORKS));
  add(fields, random, 15, "header", properties(["X-A", "x-b", "5", "Cookie", "Authorization"]));
  add(fields, random, 15, "query", properties(["q", "5", "a=b", "true"]));
  add(fields, random, 15, "cookie", properties(["c", "5"]));
  if (depth < 2) {
    const inner = () => matchOf(random, depth + 1);
    add(fields, random, 10, "all", () => listOfMaps(random, inner));
    add(fields, random, 10, "any", () => listOfMaps(random, inner));
    add(fields, random, 10, "not", inner);
  }
  return map(fields);
}

function limitsOf(random, fields) {
  fields.push(`limit: ${random.of(LIMITS)}`, `window: ${random.of(WINDOWS)}`);
  const algorithms = ["fixed_window", "sliding_window", "sliding_log", "token_bucket",
                      "exponential_backoff"];
  const algorithm = random.of(algorithms);
  add(fields, random, 50, "algorithm", () => algorithm);
  if (algorithm === "token_bucket") add(fields, random, 50, "burst", () => random.of(BURSTS));
}

function namedLimits(random, field) {
  return listOfMaps(random, () => {
    const fields = [`${field}: ${random.of(SCALARS)}`];
    limitsOf(random, fields);
    return map(fields);
  });
}

function denialOf(random) {
  const fields = [];
  add(fields, random, 40, "status", () => 400 + random.below(100));
  add(fields, random, 60, "body", () => random.of(TEMPLATES));
  add(fields, random, 30, "content_type", () => random.of(["text/html", "application/json", "5"]));
  const header = () =>
    map([`name: ${random.of(["X-A", "5", "IP"])}`, `value: ${random.of(TEMPLATES)}`]);
  add(fields, random, 40, "header", () => listOfMaps(random, header));
  return map(fields);
}

/** A line of YAML, which the server may refuse. */
export function ruleOf(random, index) {
  const fields = [`id: r${index}`, `group: g${index}`, `match: ${matchOf(random)}`];
  limitsOf(random, fields);
  if (random.in(70)) {
    const key = random.someOf(PARTS);
    fields.push(`key: ${key}`);
    const policies = ["client", "shared", "deny", "skip"];
    const mayBeMissing = key.includes(":") && !/client[^,]*\]$/.test(key);
    if (mayBeMissing) add(fields, random, 40, "missing", () => random.of(policies));
  }
  if (random.in(30)) {
    fields.push(`tier: ${random.of(PARTS)}`, `tiers: ${namedLimits(random, "name")}`);
  }
  add(fields, random, 20, "overrides", () => namedLimits(random, "key"));
  add(fields, random, 20, "allow", () => random.someOf([...SCALARS, ...NETWORKS]));
  add(fields, random, 30, "deny", () => random.someOf([...SCALARS, ...NETWORKS]));
  add(fields, random, 20, "active", () => map([`zone: ${random.of(ZONES)}`]));
  add(fields, random, 30, "on_deny", () => denialOf(random));
  add(fields, random, 10, "shadow", () => random.of(["true", "false"]));
  const costs = ["0", "2", "header:X-A", "1000000000000", "1.5"];
  add(fields, random, 10, "cost", () => random.of(costs));
  add(fields, random, 5, "name", () => random.of(SCALARS));
  add(fields, random, 3, "enabled", () => "false");
  return `  - ${map(fields)}`;
}

const VALUES = ["5", "1.50", "1.5", "1e3", "1000", "true", "no", "web", "*", "a, b", "b", "日本",
                "", "à", "a;b", "2026-11-23", "NaN", "x=1"];
// What a header can hold: bytes, as fetch sends them.
const HEADER_VALUES = VALUES.filter((value) => /^[ -~]*$/.test(value));
const URL_PATHS = ["/", "/a", "/a/", "/a/b", "/axbyc", "/%61", "/日本", "/a;x", "//a", "/A", "/5",
                   "/a/../b"];
const URL_HOSTS = ["5", "1.50", "1.5", "www.a.test", "127.0.0.1", "TRUE", "1e3:80", "[::1]:8080"];

export function requestOf(random) {
  const request = {
    path: random.of(URL_PATHS),
    method: random.of(["GET", "POST", "TRUE"]),
    host: random.of(URL_HOSTS),
    client: random.of(["10.1.2.3", "192.0.2.1", "2001:db8::1", "64:ff9b::c000:201", "::1",
                       "::ffff:10.0.0.1", "192.0.2.200"]),
    country: random.of(["DE", "NO", "T1", "US"]),
    headers: {},
  };
  const encoded = () => encodeURIComponent(random.of(VALUES));
  const parameters = ["q", "q", "5", "a%3Db", "true", "%C3%BC"].filter(() => random.in(30));
  if (parameters.length > 0) {
    request.path += `?${parameters.map((name) => `${name}=${encoded()}`).join("&")}`;
  }
  for (const name of ["X-A", "X-B", "5"]) {
    if (random.in(40)) request.headers[name] = random.of(HEADER_VALUES);
  }
  const cookies = ["c", "c", "5"].filter(() => random.in(30));
  const plain = HEADER_VALUES.filter((value) => !value.includes(","));
  if (cookies.length > 0) {
    request.headers.Cookie = cookies.map((name) => `${name}=${random.of(plain)}`).join("; ");
  }
  if (random.in(20)) {
    request.headers.Authorization =
      random.of(["Bearer x", 'Digest a="b, c", d=e', "AWS4 C=a/b, S=h;d, G=1=", "5"]);
  }
  return request;
}
