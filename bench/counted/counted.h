// A row: work whose instructions are counted. It is done many times, and is the same each time.
//
// Thread rule: one thread. Tested by bench/budgets_test.py, which counts it.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::counted {

// Does it so many times, a multiple of kKeys.
using Work = std::function<void(std::size_t times)>;

struct Row {
  std::string name;
  std::function<Work()> make;  // with all that it works on
  bool varies = false;         // by machine: it is only counted when it is named
};

// All rows go through so many keys in turn.
inline constexpr std::size_t kKeys = 512;

std::vector<Row> floor_rows();
std::vector<Row> library_rows();
std::vector<Row> door_rows();  // none where only the library is counted

// Ends the program, as a row that does other work than it says has no figure.
[[noreturn]] void unexpected(std::string_view what);

// Keys of so many bytes, always the same ones.
std::vector<std::string> keys_of(std::size_t length);

}  // namespace weir::counted
