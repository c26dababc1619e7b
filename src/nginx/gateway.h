// Gateway: the rules of one nginx configuration, read from the file that `weir serve` takes, and
// checked for features that nginx's workers lack.
//
// Parts of a configuration may choose among the rules (`weir_rules`): each choice is a rule set of
// its own, with a number. Set 0 has all rules that match requests.
//
// Thread rule: load() and choose() while nginx reads its configuration; then immutable.
// Tested by gateway_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fault.h"
#include "base/text_hash.h"
#include "config/config.h"
#include "config/rules/rule_sources.h"
#include "net/tls/tls_context.h"
#include "proto/http/rate_limit_headers.h"
#include "rules/rule.h"
#include "rules/rule_set.h"
#include "store/redis/fleet/redis_fleet.h"
#include "weir/result.h"

namespace weir::nginx {

// Gives each rule's id a number under which its answers count, the same through all reloads.
class RuleIds {
 public:
  RuleNumber number_of(const std::string& id);
  // kNoRuleNumber if the id has no number.
  RuleNumber known(const std::string& id) const;
  // By number.
  const std::vector<std::string>& all() const { return ids_; }

  // 1 for the first rules that are read, 2 for those of the next reload.
  std::uint64_t next_version() { return ++version_; }

 private:
  std::uint64_t version_ = 0;
  std::unordered_map<std::string, RuleNumber, TextHash, std::equal_to<>> numbers_;
  std::vector<std::string> ids_;
};

class Gateway {
 public:
  // Sentences with file, line and column.
  using Sentences = std::vector<std::string>;

  static Result<std::unique_ptr<Gateway>, Sentences> load(const std::string& file, RuleIds& ids);

  // Parts of the file that are probably mistakes.
  const Sentences& warnings() const { return warnings_; }

  // The number of the set of these rules, and of all rules of these groups. A rule that is named by
  // its id applies even if it matches no requests: to all, for each client.
  Result<std::size_t, Fault> choose(std::span<const std::string_view> names);

  std::uint64_t version() const { return version_; }
  // The file's content, and its rules as written there.
  const Config& config() const { return config_; }
  const ConfigSources& texts() const { return texts_; }

  // The header fields that the file asks for.
  const RateLimitStyle& headers() const { return headers_; }

  // The Redis that this nginx shares with others; nullopt: it is alone.
  const std::optional<RedisFleetOptions>& fleet() const { return fleet_; }
  const std::shared_ptr<const TlsTrust>& trust() const { return trust_; }

  // By number.
  const std::vector<RuleSetPtr>& sets() const { return sets_; }
  // The sets with these rules instead of the file's.
  Result<std::vector<RuleSetPtr>, Fault> sets_of(std::vector<Rule> rules) const;

 private:
  Gateway() = default;

  Sentences read_store(const Config& config, const std::string& file);
  static Result<std::vector<Rule>, Fault> chosen_among(const std::vector<Rule>& all,
                                                       std::span<const std::string> names);

  std::uint64_t version_ = 0;
  Config config_;
  ConfigSources texts_;
  RateLimitStyle headers_;
  std::optional<RedisFleetOptions> fleet_;
  std::shared_ptr<const TlsTrust> trust_;
  Sentences warnings_;
  std::vector<RuleSetPtr> sets_;
  std::map<std::vector<std::string>, std::size_t> chosen_;
};

}  // namespace weir::nginx
