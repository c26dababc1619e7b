// The fields of a rule that only a gateway applies: nginx with Weir in it, which passes requests on
// to an origin. And fields that a gateway cannot apply.

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "algo/waiting_room.h"
#include "base/decimal.h"
#include "base/duration_text.h"
#include "config/rules/rule_config.h"
#include "rules/slots.h"

namespace weir {
namespace {

void needs_gateway(const SectionReader& reader, std::string_view field, std::string_view what) {
  reader.mistake(field, "only nginx with Weir in it " + std::string(what) + "; remove '" +
                            std::string(field) +
                            "', or serve the rule there (weir gateway, docs/how-to/nginx.md)");
}

// Reads fields of one rule for one kind of server.
class GatewayFields {
 public:
  GatewayFields(const SectionReader& reader, const RuleContext& context)
      : reader_(reader),
        served_by_(context.served_by),
        has_store_(context.shared_mode.has_value()),
        prices_(context.prices) {}

  void read_response_count(Rule& rule) const {
    const auto cost = reader_.get<std::string>("cost");
    const bool is_response_cost = cost && is_of_response(*cost);
    const auto count_if = reader_.section("count_if");
    if (is_response_cost) read_cost(*cost, rule.response.emplace());
    if (count_if)
      read_count_if(*count_if, rule.response ? *rule.response : rule.response.emplace());
    if (count_if) needs_gateway_for("count_if", "sees the response");
    if (is_response_cost) needs_gateway_for("cost", "sees the response");
    if (rule.response && rule.denial.delay_max > Duration{0}) {
      reader_.mistake("on_deny",
                      "what is counted when the response is known takes no turns; remove "
                      "'delay_up_to'");
    }
    read_reserve(rule);
    if (!rule.response || !reader_.is_set("overdraft")) return;
    reader_.mistake("overdraft",
                    "what is counted when the response is known counts whether or not it fits; "
                    "remove 'overdraft'");
  }

  // nginx sees requests come and go. Elsewhere only callers know, so they acquire slots. A denial
  // for the moment is no reason to block.
  void read_concurrency(Rule& rule) const {
    if (rule.effect != Rule::Effect::kConcurrency) return;
    const bool is_for_gateway =
        served_by_ == ServedBy::kGateway || (served_by_ == ServedBy::kEither && rule.match);
    is_for_gateway ? read_requests_under_way(rule) : read_slots(rule);
    if (rule.denial.blocks.empty()) return;
    reader_.mistake("on_deny", "'block' is only for 'of: requests'; remove one");
  }

  void refuse_what_is_watched() const {
    if (served_by_ != ServedBy::kGateway) return;
    const auto refuse = [&](std::string_view field, std::string what) {
      if (!reader_.is_set(field)) return;
      reader_.mistake(field, "nothing in nginx's workers " + what + "; remove it");
    };
    refuse("on_surge", "watches for unusual traffic");
    refuse("rollout", "raises 'enforce'");
    refuse("max_holds", "holds units for somebody who commits later");
    refuse("notify_at", "tells of keys near their limits");
    refuse("tenants", "knows the table of tenants");
  }

 private:
  void read_requests_under_way(Rule& rule) const {
    if (!rule.match) {
      reader_.mistake("of",
                      "nginx counts the requests that it passes on, and nobody can acquire slots "
                      "there; add 'match', or serve the rule by weir serve");
    }
    if (rule.mode == Mode::kLeased) {
      if (!has_store_) {
        reader_.mistake("mode",
                        "slots on lease are those of a Redis that several nginx share; name it by "
                        "'store', or remove 'mode'");
      }
      return read_slots_of_store(rule);
    }
    if (reader_.is_set("mode")) {
      reader_.mistake("mode",
                      "each nginx counts requests under way by itself; write leased, with which "
                      "all that share a Redis count them together, or remove it");
    } else if (reader_.is_set("on_store_failure")) {
      reader_.mistake("on_store_failure",
                      "nginx counts requests under way without a store; remove it");
    }
    rule.mode = Mode::kLocal;
  }

  void read_slots(Rule& rule) const {
    if (rule.match) {
      reader_.mistake("match",
                      "only nginx with Weir in it sees when requests end; remove 'match', so that "
                      "callers take slots (docs/reference/slots.md), or serve the rule there (weir "
                      "gateway, docs/how-to/nginx.md)");
    }
    // One place knows what is under way, and may lend slots: Redis, or without it this node.
    if (rule.mode.value_or(Mode::kStrict) < Mode::kLeased) {
      reader_.mistake("mode",
                      "one place has to know what is under way; write strict, the default of 'of: "
                      "concurrency', or leased");
    }
    if (rule.mode != Mode::kLeased) rule.mode = Mode::kStrict;
    read_slots_of_store(rule);
  }

  void read_slots_of_store(Rule& rule) const {
    if (rule.quota.limit() > kSlotsMax) {
      reader_.mistake("limit", "'of: concurrency' is for a limit of at most " +
                                   std::to_string(kSlotsMax) + "; lower it");
    }
    rule.holds_max = std::max<std::int64_t>(1, rule.quota.limit());
    if (!reader_.is_set("on_store_failure")) {
      rule.on_store_failure = OnStoreFailure::kDeny;
    } else if (rule.on_store_failure == OnStoreFailure::kLocal) {
      reader_.mistake("on_store_failure",
                      "no node knows alone which slots are held; write deny, the default of 'of: "
                      "concurrency', or allow");
    }
  }

  void read_reserve(Rule& rule) const {
    if (rule.response) {
      rule.response->reserved = reserved_by(rule);
    } else if (reader_.is_set("reserve")) {
      reader_.mistake("reserve",
                      "'reserve' is only for what is counted by the response; add 'cost: usage', "
                      "another cost that answers report (docs/reference/usage.md), or 'count_if', "
                      "or remove it");
    }
    if (const auto from = reader_.get<std::string>("reserve_from")) read_reserve_from(*from, rule);
  }

  void read_reserve_from(std::string_view from, Rule& rule) const {
    constexpr std::string_view kJson = "request:json:";
    if (!rule.response || rule.response->cost_from == ResponseCount::CostFrom::kNowhere) {
      return reader_.mistake("reserve_from",
                             "'reserve_from' is only for costs that answers report; add 'cost: "
                             "usage' or another (docs/reference/usage.md), or remove it");
    }
    const auto reserve = reader_.get<std::string>("reserve").value_or("true");
    if (reserve == "true" || reserve == "false") {
      return reader_.mistake("reserve_from",
                             "who says nothing reserves next to nothing, and many pass at once; "
                             "add 'reserve: N' for those, in units");
    }
    std::string& path = rule.response->reserved_path.emplace();
    if (from == "max_tokens") return;
    path = from.substr(kJson.size());
    check_path("reserve_from", path);
  }

  // A request may reserve at most what its key can ever spend at once.
  std::int64_t reserved_by(const Rule& rule) const {
    const auto text = reader_.get<std::string>("reserve").value_or("true");
    if (text == "true") return 1;
    if (text == "false") return 0;
    std::int64_t most = kCostMax;
    for_each_limits(rule, [&](std::span<const Quota> limits) {
      for (const Quota& limit : limits) most = std::min(most, limit.capacity());
    });
    const auto units = read_decimal<std::int64_t>(text);
    if (units && *units >= 1 && *units <= std::max<std::int64_t>(1, most)) return *units;
    if (!reader_.valid()) return 1;  // perhaps the limit is wrong
    reader_.reject("reserve",
                   "true, false, or units from 1 to the lowest limit, " + std::to_string(most));
    return 1;
  }

  void needs_gateway_for(std::string_view field, std::string_view what) const {
    if (served_by_ == ServedBy::kServer) needs_gateway(reader_, field, what);
  }

  void read_cost(std::string_view cost, ResponseCount& count) const {
    constexpr std::string_view kJson = "json:";
    count.cost_from = ResponseCount::CostFrom::kBody;
    if (cost == kUsageDollars) {
      count.prices = prices_;
      if (prices_ == nullptr) {
        reader_.mistake("cost",
                        "no price of a token is known; add 'prices' to the file, next to 'rules' "
                        "(docs/reference/usage.md), or write 'cost: usage'");
      }
      return;
    }
    if (cost == kUsage) return;
    cost.remove_prefix(kOfResponse.size());
    if (cost.starts_with(kJson)) {
      count.cost_name = cost.substr(kJson.size());
      return check_path("cost", count.cost_name);
    }
    count.cost_from = ResponseCount::CostFrom::kHeader;
    count.cost_name = cost;
    const auto& form = kHeaderNameForm.pattern;
    if (re2::RE2::FullMatch(count.cost_name, re2::StringPiece(form.data(), form.size()))) return;
    reader_.mistake("cost",
                    "'cost' must name a header of the response, such as response:X-Cost, or a "
                    "number of its JSON, such as response:json:usage.total_tokens");
  }

  void check_path(std::string_view field, const std::string& path) const {
    // Other notations of a path, "$.data[0]" or "/usage/total", would name no number.
    static const std::string name = R"([^$.\s\\"/[:cntrl:]\[\]][^.\s\\"/[:cntrl:]\[\]]*)";
    static const re2::RE2 names(name + "(\\." + name + ")*");
    const auto dots = static_cast<std::size_t>(std::ranges::count(path, '.'));
    const bool fits = path.size() <= ResponseCount::kPathMax && dots < ResponseCount::kPathNamesMax;
    if (fits && re2::RE2::FullMatch(path, names)) return;
    reader_.mistake(field,
                    "'json:' is followed by the names of objects, and at last a number, with dots "
                    "between, such as response:json:usage.total_tokens, without '$', '/' and "
                    "lists: at most " +
                        std::to_string(ResponseCount::kPathNamesMax) + " names and " +
                        std::to_string(ResponseCount::kPathMax) + " characters");
  }

  static void read_count_if(const SectionReader& count_if, ResponseCount& count) {
    for (const YamlNode* text : count_if.texts("status")) {
      const auto statuses = parse_statuses(text->text);
      if (statuses) {
        count.statuses.push_back(*statuses);
      } else {
        count_if.mistake(text->place,
                         "'status' must be one from 100 to 599, such as 401, or 5xx for all from "
                         "500 to 599, or a list of such");
      }
    }
    if (count_if.get<std::string>("unknown") != "skip") {
      count.statuses.push_back({kUnknownStatus, kUnknownStatus});
    }
  }

  const SectionReader& reader_;
  const ServedBy served_by_;
  const bool has_store_;
  const std::shared_ptr<const PriceTable> prices_;
};

// Why a bucket of the rule cannot let requests wait for so long; nothing if all buckets can.
std::optional<std::string> against_waiting(const Rule& rule) {
  constexpr const char* kOneBucket =
      "requests wait for their turn at one token_bucket; write 'algorithm: token_bucket' without "
      "'more_limits', or remove 'delay_up_to'";
  if (rule.effect == Rule::Effect::kConcurrency) return "no turns are taken; remove 'delay_up_to'";
  if (rule.overdraft != Rule::Overdraft::kNone) return "who owes does not wait; remove 'overdraft'";
  std::optional<std::string> reason;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    const Quota& bucket = limits.front();
    if (limits.size() > 1 || bucket.algorithm() != Algorithm::kTokenBucket) {
      reason = kOneBucket;
    } else if (rule.denial.delay_max > bucket.window()) {
      reason = "'delay_up_to' must be at most the window, " + format_duration(bucket.window()) +
               "; for longer waits write the same rate over a longer window, with its 'burst'";
    } else if (!with_room(bucket, rule.denial.delay_max)) {
      reason = "'delay_up_to' and the burst are together more than a bucket may hold";
    }
  });
  return reason;
}

}  // namespace

void check_algorithm(const SectionReader& reader, const RuleContext& context, Algorithm algorithm) {
  if (context.served_by != ServedBy::kGateway) return;
  std::string reason;
  if (algorithm == Algorithm::kAdaptive) {
    reason = "nothing in nginx's workers switches algorithms for 'adaptive'";
  } else if (algorithm == Algorithm::kSlidingLog) {
    reason = "nginx's workers cannot share counters of 'sliding_log'";
  } else {
    return;
  }
  reader.mistake("algorithm", reason +
                                  "; use sliding_window, token_bucket, fixed_window or "
                                  "exponential_backoff");
}

void check_delay(const SectionReader& on_deny, const RuleContext& context, const Rule& rule) {
  if (context.served_by == ServedBy::kServer)
    needs_gateway(on_deny, "delay_up_to", "delays requests");
  const auto reason = against_waiting(rule);
  if (reason) return on_deny.mistake("delay_up_to", *reason);
  if (!context.shared_mode || rule.mode.value_or(*context.shared_mode) != Mode::kLeased) return;
  on_deny.mistake("delay_up_to", "leases know no turns; give the rule 'mode: strict' or another");
}

void read_gateway_effects(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  const GatewayFields fields(reader, context);
  fields.read_response_count(rule);
  fields.read_concurrency(rule);
  fields.refuse_what_is_watched();
}

}  // namespace weir
