// The data that a rule needs and a log lacks, such as a header, a token or a body.
//
// Thread rule: pure. Tested by tests/lab/replay_test.py.

#pragma once

#include <string>

#include "logs/logged_request.h"
#include "rules/request_facts.h"
#include "rules/rule.h"

namespace weir::lab {

// Why the rule is left out, as a phrase; empty: the log has all data that it needs.
std::string lacking(const Rule& rule, const RequestSources& sources, const LogKnows& knows);

}  // namespace weir::lab
