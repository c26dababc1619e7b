// The key under which a rule counts a request or descriptor that matches it.
//
// A client may leave out a header, parameter, cookie or claim. An empty value, or several values,
// count as missing, too. Then the client's address stands in for the part, as "client 192.0.2.7",
// unless the rule's `missing` says otherwise. So a client that leaves the part out is not free, and
// spends no units of strangers. A value that begins like that is marked, as
// "client =client 192.0.2.7", so no value reads like an address. Without a client it is empty.
//
// A key of the first part that is there names that part: "header:X-Api-Key k1", or
// "client 192.0.2.7". So no API key that reads like a user's name can spend that user's units.
//
// Thread rule: pure. Tested by rule_key_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {

// The key views one of the texts, or `scratch`, which is reused.
std::string_view key_of(const Rule& rule, const Request& request, std::string& scratch);
std::string_view key_of(const Rule& rule, const Descriptor& descriptor, std::string& scratch);

// Whether somebody who reads such a key could pass for its client: a part of it is a cookie, or
// comes from Authorization. Lists, files, other nodes and people see only a digest of such keys.
bool has_secret_key(const Rule& rule);

enum class Repeats : std::uint8_t { kNothing, kSomething };

// Makes the key as key_of() does. Returns whether a part of it has several values.
Repeats make_key(const Rule& rule, const Request& request, std::string& key);

// Appends the text of the part to `key`. An empty value is a missing part.
void append_value(const Rule& rule, const KeyPart& part, std::string_view value,
                  const Request& request, std::string& key);

// Whether the rule does not apply to a request that it matches; or denies it.
bool skips(const Rule& rule, const Request& request);
bool refuses(const Rule& rule, const Request& request);

enum class PartState : std::uint8_t { kThere, kMissing, kRepeated };

PartState state_of(const KeyPart& part, const Request& request);

// Calls `visit` with each part that is missing from the key, and the part's state.
template <typename Visit>
void for_each_missing(const Rule& rule, const Request& request, Visit visit) {
  for (const KeyPart& part : rule.key_parts) {
    const PartState state = state_of(part, request);
    if (state != PartState::kThere && part.may_be_missing()) visit(part, state);
    if (state == PartState::kThere && rule.key_form == Rule::KeyForm::kFirst) return;
  }
}

}  // namespace weir
