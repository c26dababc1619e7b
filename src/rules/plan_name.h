// A plan: a tier of a rule with `tenants: true`, named in rows of the table of tenants.

#pragma once

#include <cstddef>

namespace weir {

inline constexpr std::size_t kPlanNameMax = 64;  // bytes that a row has room for

}  // namespace weir
