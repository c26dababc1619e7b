// The engine for JavaScript: the memory store's tables and the algorithms behind a C ABI.
//
// One module instance is one store. Numbers that cross the border are doubles, since a
// BigInt costs three times as much; whole ones are exact up to 2^53. Times and durations are
// microseconds, times since 1970. Texts go into weir_text(), answers come in weir_answer().
//
//   fixed_window, sliding_window, token_bucket    16 bytes a key   store/memory/compact_table.h
//   sliding_log, exponential_backoff, huge counts the side store   store/memory/wide_store.h
//
//   sliding windows near their limits, if wanted  624 bytes a key  store/memory/fine_counts.h
//
// All are bounded by weir_open(), and make room as they do in the server: a flood of keys
// does not free one that is over its limit.
//
// Thread rule: one thread. Tested by differential_test.mjs, which compares the module with
// the same functions compiled for this machine.

#pragma once

#include <cstdint>

extern "C" {

// At least `bytes` of memory for a text. May move, and so may every view of the memory.
std::uint8_t* weir_text(std::uint32_t bytes);

// Where answers are: limit, remaining, retry_after, reset_after, backoff level, more_after.
const double* weir_answer();

// Makes the store. The text is the secret, 192 bytes. 0 if that are more than 2^24
// keys, or 2^20 precise ones, or if it has been made. REQUIRES: 1,024 <= max_keys
int weir_open(double max_keys, double precise_keys, double now);

// Numbers a quota, for charges to name; an index may be used again. 0, or which argument is
// wrong: 1 the algorithm (as in weir/quota.h), 2 limit, 3 window, 4 burst.
constexpr int kWeirQuotas = 256;
int weir_quota(int index, int algorithm, double limit, double window, double burst);

// Numbers a bucket, whose name is the text.
constexpr int kWeirBuckets = 256;
void weir_bucket(int index, std::uint32_t length);

// Decides a charge for the key that is the text: 0 allowed, 1 denied, 2 never.
// REQUIRES: weir_open(); index, quota and cost are in range
int weir_spend(int quota, int bucket, std::uint32_t length, double cost, double now);
void weir_reset(int quota, int bucket, std::uint32_t length);

// The 16 bytes under which the fleet of a Redis knows the key, in place of the text.
void weir_hash(int quota, int bucket, std::uint32_t length);

// Keys that had to make room.
double weir_evictions();

// One key whose state is the caller's, to be kept elsewhere. weir_state() is its words, of which
// weir_step() uses and returns as many as `words`, 0 for a key never seen. A log keeps
// kWeirLogEntries times; more are merged, and never admit too much.
constexpr int kWeirLogEntries = 1024;
constexpr int kWeirStateWords = 2 * kWeirLogEntries;
std::int64_t* weir_state();
int weir_step(int quota, int words, double cost, double now);  // words, in bits 2 and up

}  // extern "C"
