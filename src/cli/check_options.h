// The options of `weir check` and `weir-bench http` for a check's fields, and the answer to the
// check.
//
// Thread rule: main's thread. Tested by check_options_test.cc, check_answer_test.cc and
// tests/e2e/commands_test.py.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace CLI {
class App;
}

namespace weir {

// The fields of a check. The server, or the rule, decides fields that are not set.
struct CheckRequest {
  std::optional<std::string> rule;
  std::optional<std::string> bucket;
  std::optional<std::int64_t> limit;
  std::optional<Duration> window;
  std::optional<std::string> algorithm;  // a name
  std::optional<std::int64_t> cost;
  std::optional<std::int64_t> burst;
};

// The JSON that POST /check reads.
std::string check_body(std::string_view key, const CheckRequest& fields);

// `fields` must outlive the command.
void add_check_options(CLI::App& command, CheckRequest& fields);

// Why an option refuses a text; empty if it is a duration above 0.
std::string mistake_in_duration(const std::string& text);

// The answer of a server to one check, in words.
//
//   allowed, 4 of 5 left, full again in 60 s
//   denied, retry after 12 s
//   denied, more than 5 are never allowed at once
//
// Times are rounded up, so that a client that waits that long does not come too early.
struct CheckAnswer {
  bool allowed = false;
  std::string text;
};

// From the body of a 200. nullopt if /check does not answer so.
std::optional<CheckAnswer> read_answer(std::string_view json);

// "12 s", or "250 ms" below one second.
std::string in_words(double seconds);

// From the body of any other status: the server's explanation, if there is one.
std::optional<std::string> read_problem(std::string_view json);

}  // namespace weir
