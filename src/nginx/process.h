// What is known of other processes of the same nginx.
//
// Thread rule: any thread. Tested by zone_test.cc and fleet/owed_ledger_test.cc.

#pragma once

#include <signal.h>

#include <cerrno>
#include <cstdint>

namespace weir::nginx {

// Of a process that has been waited for, or never was, it is not. REQUIRES: process > 0
inline bool is_alive(std::int32_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace weir::nginx
