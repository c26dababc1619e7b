// An object of the shape of Cloudflare's rate limit binding: `limit({ key })` says `success`.

import type { Decision } from "./decision.js";
import type { Key, Limiter } from "./limiter.js";
import { checkLimiter, ownOptions, checkText, type NamesOf } from "./options.js";

interface Asked {
  key: Key;
}
const NAMES: NamesOf<Asked> = { key: true };

export interface RateLimitBinding {
  limit(options: Asked): Promise<{ success: boolean } & Decision>;
}

export function binding(limiter: Limiter<Decision> | Limiter<Promise<Decision>>,
                        bucket = ""): RateLimitBinding {
  checkLimiter(limiter);
  checkText("bucket", bucket);
  return {
    async limit(options) {
      const { key } = ownOptions(options, "key", NAMES);
      const decision = await limiter.hit(bucket, key);
      return { success: decision.allowed, ...decision };
    },
  };
}
