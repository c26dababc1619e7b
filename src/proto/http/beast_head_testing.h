// judge_by_beast: what Boost.Beast says about a request's head, with the refusals beyond Beast's.
//
// It read the heads before parse_head() did; parse_head() must agree with it.
//
// Thread rule: pure. Tested by http1_head_test.cc and fuzz/http1_head_fuzz.cc, both ways.

#pragma once

#include <string_view>

#include "proto/http/http1_head.h"

namespace weir::http1 {

// Does what parse_head() does, except that it refuses a folded field only at its last line.
// REQUIRES: arrived.size() <= kHeadMax
HeadStatus judge_by_beast(std::string_view arrived, RequestHead& head, Refusal& refusal);

}  // namespace weir::http1
