// World: the decisions of one file of rules about the requests of a log, and a tally of them.
//
// The rules match and decide as in a server, at the log's own times. Exact logs decide again, which
// shows what the rules' algorithms misjudge.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gate/described_request.h"
#include "logs/logged_request.h"
#include "replay/exact_logs.h"
#include "replay/key_ledger.h"
#include "replay/time_chart.h"
#include "rulebook/court.h"

namespace weir::lab {

struct RuleTally {
  Duration window{0};  // its longest
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;
  std::uint64_t spared = 0;  // would have been denied: in shadow, or of a key outside `enforce`
  // By an exact log, spared requests included:
  std::uint64_t exact_denied = 0;
  std::uint64_t too_early = 0;  // an exact log would have allowed it
  std::uint64_t too_late = 0;   // an exact log would have denied it
};

class World {
 public:
  // `start`: no request is earlier.
  World(Config config, const LogKnows& knows, Instant start);

  // True: the request is denied, or refused.
  bool judge(const LoggedRequest& logged);
  // Whether other rules have denied the request that was judged last.
  void compare(bool denied_elsewhere);

  // ---- afterwards ----

  const std::vector<Rule>& rules() const { return court_->rules().rules(); }
  const std::vector<RuleTally>& tallies() const { return tallies_; }
  const KeyLedger& keys() const { return ledger_; }
  // Series: all requests, denied requests, and requests that each rule denied or spared.
  const TimeChart& chart() const { return chart_; }
  const auto& left_out() const { return left_out_; }  // rules, each with the reason
  std::uint64_t requests() const { return requests_; }
  std::uint64_t denied() const { return denied_; }
  std::uint64_t refused() const { return refused_; }  // of the denied, those denied by no rule
  std::uint64_t named() const { return named_; }      // of clients without an address
  std::uint64_t beyond() const { return beyond_; }    // asks of keys without a record
  std::uint64_t evictions() const { return court_->evictions(); }
  std::uint64_t short_of_room() const { return exact_.short_of_room(); }
  // The rule that denied the last request, if one did.
  std::string_view denier() const;

 private:
  RuleSetPtr take_rules(Config& config, const LogKnows& knows);
  void describe(const LoggedRequest& logged);
  bool ask(Instant now);
  std::uint32_t number_of(const Rule& rule) const {
    return static_cast<std::uint32_t>(&rule - rules().data());
  }
  void decide(Asks& asks, Instant now);
  void note(std::size_t index, const LoggedRequest& logged);
  void pay(int status, Instant now);

  const std::string country_header_;
  std::vector<std::pair<std::string, std::string>> left_out_;
  std::unique_ptr<Court> court_;
  ExactLogs exact_{KeyLedger::kKeysMax};
  DescribedRequest described_;
  bool is_clear_ = true;

  struct Debt {
    std::size_t ask = 0;
    std::int64_t cost = 0;
  };
  std::vector<Debt> debts_;                            // of the request
  std::vector<std::uint64_t> hashes_;                  // of the keys of its asks
  std::vector<std::optional<std::uint32_t>> records_;  // of the keys of its asks
  const Rule* denier_ = nullptr;

  KeyLedger ledger_;
  std::vector<RuleTally> tallies_;
  TimeChart chart_;
  std::uint64_t requests_ = 0;
  std::uint64_t denied_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t named_ = 0;
  std::uint64_t beyond_ = 0;
};

// The client in a log. A name that is no address becomes an address of its own in 100::/8, which
// nobody has.
std::optional<IpAddress> client_in(std::string_view text);
inline bool is_named(const std::optional<IpAddress>& client) {
  return client && client->bytes()[0] == 1;
}

}  // namespace weir::lab
