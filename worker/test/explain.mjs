// One question, asked of the server and of the Worker: which rules apply to a request, and how.

const found = (list) => Object.fromEntries(list.map(({ rule, ...more }) => [rule, more]));

/** By `matching` of matching.js. A text if refused. */
export function askWorker(matching, question) {
  const { path, method = "GET", host = "other.test", client, country = "", headers } = question;
  const fields = client === undefined ? headers : { ...headers, "CF-Connecting-IP": client };
  const lines = Object.entries(fields ?? {}).flatMap(([name, value]) =>
    [value].flat().map((line) => [name, line]));
  // The URL stays as it is: parsing it would change its path.
  const request = { method, url: `https://${host}${path}`, headers: new Headers(lines) };
  const matches = matching(request, country);
  return matches === undefined ? "400 path" : found(matches);
}

/** Of what a server says: the rules that depend on a client, where the question names none. */
export const UNKNOWN = Symbol("unknown");

/** Asks a server whose `country_header` is CF-IPCountry. A text where it refuses the request. */
export async function askServer(url, { country, headers, ...request }) {
  const told = { ...headers, ...(country === undefined ? {} : { "CF-IPCountry": country }) };
  const asked = { method: "GET", host: "other.test", headers: told, ...request };
  const reply = await fetch(`${url}/v1/explain`, { method: "POST", body: JSON.stringify(asked) });
  const text = await reply.text();
  if (reply.status !== 200) return `${reply.status} ${text}`;
  const { applies, unknown = [] } = JSON.parse(text);
  return { ...found(applies), [UNKNOWN]: unknown.map(({ rule }) => rule) };
}
