#include "net/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace weir {

// Each group above this process's may have its own limit. "max" is no number, so that none is
// read.
std::uint64_t memory_limit() {
  auto limit = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::string line;
  std::ifstream groups("/proc/self/cgroup");
  while (std::getline(groups, line) && !line.starts_with("0::/")) {
  }
  auto group = std::filesystem::path(line.starts_with("0::/") ? line.substr(4) : "");
  for (;; group = group.parent_path()) {
    std::uint64_t own = 0;
    const auto file = std::filesystem::path("/sys/fs/cgroup") / group / "memory.max";
    if (std::ifstream(file) >> own) limit = std::min(limit, own);
    if (group.empty()) return limit;
  }
}

std::uint64_t default_buffered_max(std::uint64_t memory_limit) {
  constexpr std::uint64_t kMin = std::uint64_t{64} << 20;
  constexpr std::uint64_t kMax = std::uint64_t{4} << 30;
  return std::clamp(memory_limit / 8, kMin, kMax);
}

}  // namespace weir
