// A plan: a tier of a rule with `tenants: true`, as the table of tenants has it in its rows.

#pragma once

#include <cstddef>

namespace weir {

inline constexpr std::size_t kPlanNameMax = 64;  // bytes; a row has room for so many

}  // namespace weir
