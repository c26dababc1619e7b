#include "net/sockets/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace weir {
namespace {

// A loop is two descriptors, and a listener one: there are three doors, in clear and not.
constexpr std::size_t kFilesPerCore = 8;
constexpr std::size_t kFilesOfProgram = 32;

}  // namespace

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
