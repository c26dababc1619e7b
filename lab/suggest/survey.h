// Survey: the most that each client asks of each endpoint, and the limits that follow from it.
//
// The requests of a log are matched by the very rules that will be suggested, so it measures what
// these rules would count. It sets clients aside that look like scanners, by this rule:
//
//   at least kScannerRequests requests, of which half or more were answered 4xx (429 aside); or
//   at least kScannerPeak requests in the busiest minute, and over ten times as many as 90 % of
//   clients in theirs
//
// Thread rule: one thread. Tested by tests/lab/suggest_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gate/described_request.h"
#include "logs/logged_request.h"
#include "replay/key_ledger.h"
#include "rules/rule_set.h"
#include "suggest/endpoints.h"
#include "suggest/peaks.h"

namespace weir::lab {

class Survey {
 public:
  static constexpr std::size_t kVisitsMax = std::size_t{1} << 19;
  static constexpr std::uint32_t kScannerRequests = 30;
  static constexpr std::uint32_t kScannerPeak = 100;
  static constexpr std::size_t kClientsMin = 10;  // for an endpoint to get a limit

  explicit Survey(std::vector<Endpoint> endpoints);

  void count(const LoggedRequest& logged);

  // The rules, with their reasons in comments. `share`: of honest clients that a rule may deny.
  // `head`: another comment.
  std::string rules_text(const std::string& head, double share) const;

 private:
  // One client's requests at one rule.
  struct Visit {
    std::uint32_t rule = 0;
    std::uint32_t client = 0;
    std::uint32_t requests = 0;
    std::uint32_t errors = 0;  // answers 4xx, but 429
    Peaks peaks;
  };
  struct Client {
    std::string name;
    std::uint32_t visit = 0;  // to the whole site
  };
  using Visits = std::vector<const Visit*>;

  std::string scanners_text(const std::vector<std::string_view>& reasons) const;
  std::vector<std::string_view> scanners() const;
  std::string rule_text(std::size_t rule, const Visits& honest, double share) const;

  std::vector<Endpoint> endpoints_;
  std::vector<std::string> ids_;  // of the rules: one for each endpoint, and one for the whole site
  RuleSetPtr rules_;
  DescribedRequest described_;
  std::string key_;

  KeyNumbers numbers_{kVisitsMax};
  std::vector<Visit> visits_;
  std::vector<Client> clients_;
  std::uint64_t requests_ = 0;
  std::uint64_t beyond_ = 0;  // requests of clients without room
};

}  // namespace weir::lab
