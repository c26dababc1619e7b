// The bound on open files, which bounds connections.
//
// Thread rule: at start. Tested by src/net/server_test.cc.

#pragma once

#include <cstddef>

namespace weir {

// Raises the process's bound to the most it may have, and returns that.
std::size_t raise_open_files_limit();

// How many of so many files may be connections: all but those for listeners, loops, logs
// and whatever else a program keeps open.
std::size_t connections_possible(std::size_t open_files, std::size_t cores);

}  // namespace weir
