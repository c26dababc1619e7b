// What is held and committed, in the words of the doors.
//
// Thread rule: one thread. Tested by scenarios_test.cc.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenarios/hosts.h"

namespace weir::scenarios {

// What names the last hold of a key, whichever host has reserved.
using Tokens = std::map<std::string, std::string>;

Outcome committed(std::string_view outcome);

// The answer of the door, which may bring a token.
std::string reserve_by_http(SessionFactory& door, const Question& question, Tokens& tokens,
                            Instant now);
Outcome commit_by_http(SessionFactory& door, const Question& question, Tokens& tokens, Instant now);
std::string reserve_by_resp(SessionFactory& door, const Question& question, Tokens& tokens,
                            Instant now);
Outcome commit_by_resp(SessionFactory& door, const Question& question, Tokens& tokens, Instant now);

}  // namespace weir::scenarios
