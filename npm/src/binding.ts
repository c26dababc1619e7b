// An object of the shape of Cloudflare's rate limit binding: `limit({ key })` says `success`.

import type { Decision } from "./decision.js";
import type { Limiter } from "./limiter.js";
import { checkLimiter } from "./options.js";

export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean } & Decision>;
}

export function binding(limiter: Limiter<Decision> | Limiter<Promise<Decision>>,
                        bucket = ""): RateLimitBinding {
  checkLimiter(limiter);
  return {
    async limit({ key }) {
      const decision = await limiter.hit(bucket, key);
      return { success: decision.allowed, ...decision };
    },
  };
}
