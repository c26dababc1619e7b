// The functions of the browsers' crypto that the package calls. Every platform but Node 18 has it
// as a global.

export function cryptoBy(crypto: () => Crypto) {
  return {
    randomBytes: (count: number): Uint8Array => crypto().getRandomValues(new Uint8Array(count)),
    sha256: async (bytes: Uint8Array): Promise<Uint8Array> =>
      new Uint8Array(await crypto().subtle.digest("SHA-256", bytes)),
  };
}
