// The answer of a server to one check, in words.
//
//   allowed, 4 of 5 left, full again in 60 s
//   denied, retry after 12 s
//   denied, more than 5 are never allowed at once
//
// Times are rounded up, so that a client that waits for as long does not come too early.
//
// Thread rule: pure functions. Tested by check_answer_test.cc.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct CheckAnswer {
  bool allowed = false;
  std::string text;
};

// From the body of a 200. Nothing if it is not what /check answers.
std::optional<CheckAnswer> read_answer(std::string_view json);

// "12 s", or "250 ms" below one second.
std::string in_words(double seconds);

// From the body of any other status: the server's explanation, if there is one.
std::optional<std::string> read_problem(std::string_view json);

}  // namespace weir
