// The report of a replay as JSON, of which the text and the page are made.
//
// Thread rule: pure, but for Comparison, which is of one thread. Tested by
// tests/lab/replay_test.py.

#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "replay/log_options.h"
#include "replay/world.h"

namespace weir::lab {

// Requests that two sets of rules decide differently.
class Comparison {
 public:
  static constexpr std::size_t kExamples = 10;

  // Takes the last request of both worlds.
  void note(const LoggedRequest& logged, World& before, World& after, bool was_denied,
            bool is_denied);

  // Keys are those of rules that deny. A key is newly denied if the new rules deny requests of it,
  // and the old rules deny none.
  boost::json::object report(const World& before, const World& after) const;

 private:
  std::uint64_t newly_denied_ = 0;
  std::uint64_t newly_allowed_ = 0;
  boost::json::array denied_examples_;
  boost::json::array allowed_examples_;
};

// `named`: requests whose clients the log names.
boost::json::object log_report(const SortedLog& log, const LogSpan& span, std::uint64_t named);
boost::json::object world_report(const World& world, const std::string& file);

// A self-contained page, which loads nothing.
std::string report_page(const boost::json::object& report);

void print_report(const boost::json::object& report, std::ostream& out);

// Text of a log or a rule as one line of UTF-8.
std::string shown(std::string_view text);
std::string date_text(Instant instant);  // 2024-05-01 12:00:00

}  // namespace weir::lab
