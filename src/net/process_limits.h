// What this process may use: memory, and open files, which bound connections; what it uses, and
// where it runs.
//
// Thread rule: at start. Tested by src/net/fairness_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Bytes: the machine's, or less if a cgroup says so.
std::uint64_t memory_limit();

// Bytes of memory that the process has now; 0: unknown.
std::uint64_t resident_memory();

// Of the machine; empty: unknown.
std::string host_name();

// What connections may hold together if nobody says otherwise: an eighth of that, from 64 MiB
// to 4 GiB.
std::uint64_t default_buffered_max(std::uint64_t memory_limit);

// Raises the process's bound on open files to the most it may have, and returns that.
std::size_t raise_open_files_limit();

// How many of so many files may be connections: all but those for listeners, loops, logs
// and whatever else a program keeps open.
std::size_t connections_possible(std::size_t open_files, std::size_t cores);

}  // namespace weir
