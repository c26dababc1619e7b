// Addresses as the server takes them: every spelling of an IPv4 address is that address, and
// texts are as RFC 5952 writes them. src/base/ip_address.h says the same in C++.

export type Address = Uint8Array;  // 16 bytes; IPv4 mapped

const V4_AT = 12;
const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const NAT64 = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

const startsWith = (address: Address, prefix: number[]): boolean =>
  prefix.every((byte, index) => address[index] === byte);

export const isV4 = (address: Address): boolean => startsWith(address, MAPPED);

function parseV4(text: string): number[] | undefined {
  const parts = text.split(".");
  const valid = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part));
  const bytes = parts.map(Number);
  return valid && bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

// The two-byte groups of one side of "::".
function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (group.includes(".") && index === groups.length - 1) {
      const four = parseV4(group);
      if (four === undefined) return undefined;
      bytes.push(...four);
    } else if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else {
      return undefined;
    }
  }
  return bytes;
}

function parseV6(text: string): number[] | undefined {
  const sides = text.split("::");
  if (sides.length > 2) return undefined;
  const first = parseGroups(sides[0]!);
  const last = parseGroups(sides[1] ?? "");
  if (first === undefined || last === undefined) return undefined;
  const missing = 16 - first.length - last.length;
  if (sides.length === 1 ? missing !== 0 : missing < 2) return undefined;
  return [...first, ...Array<number>(missing).fill(0), ...last];
}

export function parseAddress(text: string): Address | undefined {
  const plain = text.split("%")[0]!;
  if (!plain.includes(":")) {
    const four = parseV4(plain);
    return four && Uint8Array.from([...MAPPED, ...four]);
  }
  const bytes = parseV6(plain);
  if (bytes === undefined) return undefined;
  const address = Uint8Array.from(bytes);
  return startsWith(address, NAT64) ? Uint8Array.from([...MAPPED, ...bytes.slice(V4_AT)]) : address;
}

/** Its first bits, the others zero; bits count in its own family. */
export function networkOf(address: Address, bits: number): Address {
  const kept = isV4(address) ? bits + 8 * V4_AT : bits;
  const maskAt = (index: number): number => 0xff00 >> Math.min(8, Math.max(0, kept - 8 * index));
  return address.map((byte, index) => byte & maskAt(index));
}

export function addressText(address: Address): string {
  if (isV4(address)) return [...address.slice(V4_AT)].join(".");
  const groups = Array.from({ length: 8 }, (_, i) => (address[2 * i]! << 8) | address[2 * i + 1]!);
  // The longest run of zeros, the first of several, if it is longer than one.
  let [at, length] = [-1, 1];
  for (let i = 0; i < 8; ++i) {
    let end = i;
    while (end < 8 && groups[end] === 0) ++end;
    if (end - i > length) [at, length] = [i, end - i];
  }
  const hex = (some: number[]): string => some.map((group) => group.toString(16)).join(":");
  return at < 0 ? hex(groups) : `${hex(groups.slice(0, at))}::${hex(groups.slice(at + length))}`;
}

/** "192.0.2.0/24", as a function that says whether it holds an address. */
export function networkHolds(text: string): (address: Address) => boolean {
  const [plain, bits] = text.split("/");
  const network = parseAddress(plain!)!;
  const length = bits === undefined ? (isV4(network) ? 32 : 128) : Number(bits);
  return (address) =>
    isV4(address) === isV4(network) &&
    networkOf(address, length).every((byte, index) => byte === network[index]);
}
