// Joins texts so that no two lists of texts give the same result: "1:a2:bc".
//
// Thread rule: pure. Tested by src/rules/descriptor_tree_test.cc and
// src/rls/limit_terms_test.cc.

#pragma once

#include <string>
#include <string_view>

#include "base/decimal.h"

namespace weir {

inline void append_with_length(std::string& joined, std::string_view part) {
  append_decimal(joined, part.size());
  joined.append(":").append(part);
}

}  // namespace weir
