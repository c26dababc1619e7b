// Condition: what --fail-on says, such as "newly_denied_keys>10" or "denied_requests>0.1%".
//
// Thread rule: pure. Tested by tests/lab/replay_test.py.

#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::lab {

struct Condition {
  std::string text;
  std::string name;
  double most = 0;
  bool is_share = false;  // of all requests, or of all keys
};

enum class Compares : bool { kNo, kYes };  // two files of rules
// Fails with a sentence.
Result<Condition, std::string> parse_condition(const std::string& text, Compares compares);

bool holds(const Condition& condition, const boost::json::object& report);

}  // namespace weir::lab
