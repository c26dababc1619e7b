// The key under which a rule counts a request or descriptor that it has matched.
//
// A client may leave out a header, parameter, cookie or claim. One that is empty, or has several
// values, is missing as well. Then, unless the rule's `missing` says otherwise, the client's
// address stands in for it, as "client 192.0.2.7". So a client that leaves it out neither is free
// nor spends what belongs to strangers. No value reads so: one that begins like that is marked,
// "client =client 192.0.2.7". Where no client is known, the text is empty.
//
// A key of the first part that is there says which one that is: "header:X-Api-Key k1", or
// "client 192.0.2.7". So nobody spends the units of a user by a key of the user's name.
//
// Thread rule: pure. Tested by rule_key_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {

// A view of one of the texts, or of `scratch`, which is reused.
std::string_view key_of(const Rule& rule, const Request& request, std::string& scratch);
std::string_view key_of(const Rule& rule, const Descriptor& descriptor, std::string& scratch);

// Whether who reads such a key could pass for its client: a part of it is a cookie, or comes from
// Authorization. Lists, files, other nodes and people see a digest of it.
bool has_secret_key(const Rule& rule);

enum class Repeats : std::uint8_t { kNothing, kSomething };

// The key as key_of() makes it, and whether a part of it has several values.
Repeats make_key(const Rule& rule, const Request& request, std::string& key);

// Adds to `key` what it says of the part, whose value may be empty: then it is missing.
void append_value(const Rule& rule, const KeyPart& part, std::string_view value,
                  const Request& request, std::string& key);

// Whether the rule does not apply to a request that it matches, or denies it.
bool skips(const Rule& rule, const Request& request);
bool refuses(const Rule& rule, const Request& request);

enum class PartState : std::uint8_t { kThere, kMissing, kRepeated };

PartState state_of(const KeyPart& part, const Request& request);

// Calls `visit` with each part that the key should have had, and its state.
template <typename Visit>
void for_each_missing(const Rule& rule, const Request& request, Visit visit) {
  for (const KeyPart& part : rule.key_parts) {
    const PartState state = state_of(part, request);
    if (state != PartState::kThere && part.may_be_missing()) visit(part, state);
    if (state == PartState::kThere && rule.key_form == Rule::KeyForm::kFirst) return;
  }
}

}  // namespace weir
