// judge_by_beast: what Boost.Beast says of the head of a request, and what is refused beyond it.
//
// It read the heads before parse_head() did, and is what parse_head() has to agree with.
//
// Thread rule: pure. Tested by http1_head_test.cc and fuzz/http1_head_fuzz.cc, both ways.

#pragma once

#include <string_view>

#include "proto/http/http1_head.h"

namespace weir::http1 {

// As parse_head() does, except that a folded field is refused only when its last line is there.
// REQUIRES: arrived.size() <= kHeadMax
HeadStatus judge_by_beast(std::string_view arrived, RequestHead& head, Refusal& refusal);

}  // namespace weir::http1
