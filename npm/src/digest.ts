// Hashes as text.

import { sha256 } from "#platform";

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The SHA-256 of the text in UTF-16, so that lone surrogates differ as well. */
export async function digestOf(text: string): Promise<string> {
  const units = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return hexOf(await sha256(new Uint8Array(units.buffer)));
}
