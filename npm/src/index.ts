export { binding, type RateLimitBinding } from "./binding.js";
export { StoreError } from "./batcher.js";
export type { Decision } from "./decision.js";
export type { FailureOptions } from "./failover.js";
export { headers, type HeaderStyle } from "./headers.js";
export {
  Limiter, type AcquireOptions, type HitOptions, type Key, type LimiterOptions,
  type ReserveOptions, type ResetOptions,
} from "./limiter.js";
export { KvStore, type Bound, type KvStoreOptions } from "./kv/kv_store.js";
export type { KvNamespace } from "./kv/kv_namespace.js";
export { MemoryStore, type MemoryStoreOptions } from "./memory_store.js";
export { ALGORITHMS, Quota, type Algorithm, type QuotaOptions, type Window } from "./quota.js";
export { RedisStore, type RedisStoreOptions, type RedisWord } from "./redis/redis_store.js";
export {
  Reservation, Slot, type Held, type HoldingStore, type HoldTerms, type SlotTerms,
} from "./reservation.js";
export { RemoteStore, type RemoteStoreOptions } from "./remote_store.js";
export type { AsyncStore, Store, SyncStore } from "./store.js";
export { CountingStore, type CountingStoreOptions } from "./middleware/counting_store.js";
export type { MiddlewareOptions } from "./middleware/limit_request.js";
export { limitExpress, limitFastify, limitFetch, limitHono } from "./middleware/middlewares.js";
export { DurableStore, WeirCounter, type DurableStoreOptions } from "./durable_object.js";
