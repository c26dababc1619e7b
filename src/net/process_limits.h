// This process's bounds on memory and open files, which bound connections; its memory use, and its
// machine's name.
//
// Thread rule: at start. Tested by src/net/fairness_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Bytes: the machine's memory, or a smaller bound of a cgroup.
std::uint64_t memory_limit();

// Bytes of memory that the process has now; 0: unknown.
std::uint64_t resident_memory();

// The machine's name; empty: unknown.
std::string host_name();

// The default bound on the bytes of all connections: an eighth of that, from 64 MiB to 4 GiB.
std::uint64_t default_buffered_max(std::uint64_t memory_limit);

// Raises the process's bound on open files to the most it may have, and returns that.
std::size_t raise_open_files_limit();

// How many of `open_files` may be connections: all but those for listeners, loops, logs and other
// files of the program.
std::size_t connections_possible(std::size_t open_files, std::size_t cores);

}  // namespace weir
