// How much memory this process may use: the machine's, or less if a cgroup says so.
//
// Thread rule: at start. Tested by src/net/fairness_test.cc.

#pragma once

#include <cstdint>

namespace weir {

// Bytes.
std::uint64_t memory_limit();

// What connections may hold together if nobody says otherwise: an eighth of that, from 64 MiB
// to 4 GiB.
std::uint64_t default_buffered_max(std::uint64_t memory_limit);

}  // namespace weir
