// What is needed of the browsers' crypto, which every platform but Node 18 has as a global.

export function cryptoBy(crypto: () => Crypto) {
  return {
    randomBytes: (count: number): Uint8Array => crypto().getRandomValues(new Uint8Array(count)),
    sha256: async (bytes: Uint8Array): Promise<Uint8Array> =>
      new Uint8Array(await crypto().subtle.digest("SHA-256", bytes)),
  };
}
