// The rules for JavaScript: which apply to a request, with which keys and limits, and what a denial
// answers, behind a C ABI. It is the server's src/rules, fed with what `weir export` has written.
//
// Texts go into weir_text(). Answers are numbers, in weir_answer(); a text in them is its place and
// its length in bytes, and lives until the next call.
//
// A request is texts, each with a NUL behind it: method, host (in lower case, without port), path,
// query, the client's address. Then come its headers, a name and a value each. The country is a
// header, too, of the name ":country".
//
// Thread rule: one thread. Tested by worker/test/matching.test.mjs.

#pragma once

#include <cstdint>

extern "C" {

// At least `bytes` of memory for a text. May move, and so may every view of the memory.
std::uint8_t* weir_text(std::uint32_t bytes);
const double* weir_answer();

// Takes the rules that are the text. How many there are; -1 if it is not what `weir export` writes,
// or names a time zone that JavaScript does not have. Once.
int weir_rules(std::uint32_t length);

// Answers with its id (a text), cost, and 1 if it is in shadow.
void weir_rule(int index);

// Matches the request that is the text. How many rules apply; -1 if it is to be refused: a header
// that origins read differently, or a path that they do.
int weir_match(std::uint32_t length, double now);

// Answers with the one at that place among them: the rule's index, a WeirList, the key and the tier
// (texts), the place of the limits and how many there are.
enum WeirList { kWeirCounted, kWeirAllowed, kWeirDenied, kWeirMissing };
void weir_applied(int place);

// Answers with a limit: algorithm (as in weir/quota.h), limit, window and burst.
void weir_limit(std::uint32_t limits, int index);

// Matches the request again, and answers with what the rule at that place says to a client that it
// denies. That is status (0: none), header fields (a text, in which a line is a name or a value),
// and the body (a text at 0: none). Durations are whole seconds.
void weir_deny(std::uint32_t length, double now, int place, double limit, double remaining,
               double retry_after, double reset_after);

}  // extern "C"
