// Does the work of each row under callgrind, which counts its instructions: 512 times, then 1,536
// times, each after a warm-up. The difference is that of 1,024 requests, without what a call of
// the row takes. Says on standard output how many requests that is; bench/counting.py reads it and
// callgrind's files.
//
//   valgrind --tool=callgrind --dump-instr=no build/dev/bench/counted/counted [ROW...]

#include "counted.h"

#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace weir::counted {

void unexpected(std::string_view what) {
  std::fprintf(stderr, "unexpected: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::vector<std::string> keys_of(std::size_t length) {
  std::mt19937 random(1);
  std::vector<std::string> keys(kKeys);
  for (std::string& key : keys) {
    for (std::size_t at = 0; at < length; ++at) key += static_cast<char>('a' + random() % 26);
  }
  return keys;
}

namespace {

void count(const Row& row) {
  std::fprintf(stderr, "counting: %s\n", row.name.c_str());
  const Work work = row.make();
  work(2 * kKeys);
  const auto counted = [&](const char* what, std::size_t times) {
    const std::string name = row.name + what;
    CALLGRIND_ZERO_STATS;
    work(times);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
  };
  counted(" few", kKeys);
  counted(" many", 3 * kKeys);
}

}  // namespace
}  // namespace weir::counted

int main(int argc, char** argv) {
  using namespace weir::counted;
  std::printf("%zu\n", 2 * kKeys);
  for (const auto& rows : {floor_rows(), library_rows(), door_rows()}) {
    for (const Row& row : rows) {
      const auto is_row = [&](const char* name) { return row.name == name; };
      const bool is_named = std::any_of(argv + 1, argv + argc, is_row);
      if (argc == 1 ? !row.varies : is_named) count(row);
    }
  }
}
