// What is held and committed, acquired and released, in the words of the doors.
//
// Thread rule: one thread. Tested by scenarios_test.cc.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenarios/hosts.h"
#include "weir/holding_store.h"

namespace weir::scenarios {

// What names the last hold of a key, whichever host has reserved.
using Tokens = std::map<std::string, std::string>;

Outcome committed(std::string_view outcome);
// What became of the hold that the question ends.
Outcome ended(const Question& question, HoldingStore::Commit outcome);

// The answer of the door to who reserves or acquires, which may bring a token.
std::string hold_by_http(SessionFactory& door, const Question& question, Tokens& tokens,
                         Instant now);
std::string hold_by_resp(SessionFactory& door, const Question& question, Tokens& tokens,
                         Instant now);
// Of a commit or a release.
Outcome end_by_http(SessionFactory& door, const Question& question, Tokens& tokens, Instant now);
Outcome end_by_resp(SessionFactory& door, const Question& question, Tokens& tokens, Instant now);

}  // namespace weir::scenarios
