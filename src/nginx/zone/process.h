// Whether another process of the same nginx is alive.
//
// Thread rule: any thread. Tested by zone_test.cc and owed_ledger_test.cc.

#pragma once

#include <signal.h>

#include <cerrno>
#include <cstdint>

namespace weir::nginx {

// False for a process that was waited for, or never was. REQUIRES: process > 0
inline bool is_alive(std::int32_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace weir::nginx
