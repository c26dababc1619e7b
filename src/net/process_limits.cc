#include "net/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace weir {
namespace {

// A loop is two descriptors, and a listener one: there are three doors, in clear and not.
constexpr std::size_t kFilesPerCore = 8;
constexpr std::size_t kFilesOfProgram = 32;

}  // namespace

// Each cgroup above this process may have its own limit. "max" is no number, so it counts as none.
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

std::uint64_t resident_memory() {
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint64_t default_buffered_max(std::uint64_t memory_limit) {
  constexpr std::uint64_t kMin = std::uint64_t{64} << 20;
  constexpr std::uint64_t kMax = std::uint64_t{4} << 30;
  return std::clamp(memory_limit / 8, kMin, kMax);
}

std::size_t raise_open_files_limit() {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  const auto had = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : had;
}

std::size_t connections_possible(std::size_t open_files, std::size_t cores) {
  const auto reserved = kFilesOfProgram + kFilesPerCore * cores;
  return std::max<std::size_t>(open_files, reserved + 1) - reserved;
}

}  // namespace weir
