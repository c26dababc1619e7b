// The gate in front of an origin: collects a request's asks, and tells the client their answers.
//
//   described request ──> ask_rules() ──> Asks ──decided──> GateVoice::say() ──> the host's reply
//
// Two hosts call it: the HTTP door for forward-auth and explanations, and nginx's workers.
//
// Thread rule: the core of the asks. Tested by tests/scenarios/http_auth.yaml,
// src/nginx/judge_test.cc and tests/nginx.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/asks/asks.h"
#include "engine/engine.h"
#include "gate/described_request.h"
#include "proto/http/problem.h"
#include "proto/http/rate_limit_headers.h"
#include "rules/rule_set.h"

namespace weir {

// The reason why a request is refused before any limit is asked.
struct GateRefusal {
  int status;                          // 500 if it is the configuration's fault
  std::string_view repeated_header{};  // sent twice; empty: too many limits apply at once
};

Problem problem_of(const GateRefusal& refusal);

// Adds to `asks` the asks of all rules that apply to the request. Calls `admit` with each ask: it
// may change the ask's cost and what it counts, and says whether to add it.
// REQUIRES: the request is complete, and `asks` are empty
template <typename Admit>
std::optional<GateRefusal> ask_rules(const RuleSet& rules, DescribedRequest& described,
                                     Instant wall_time, Asks& asks, Admit admit) {
  Request& request = described.request;
  if (const auto repeated = rules.repeated_header(request); !repeated.empty()) {
    return GateRefusal{.status = 400, .repeated_header = repeated};
  }
  const bool is_clear = request.other_paths.empty();
  const auto add = [&](const Rule& rule) {
    PartScratch tier;
    Ask& ask = asks.next_ask();
    ask_about(rule, request, asks.next_key(), tier, ask);
    if (!is_clear && asks.has(ask)) return true;
    return !admit(ask) || asks.add(ask);
  };
  if (rules.for_each_match(request, described.match, wall_time, add)) {
    asks.describe(request);  // with what the rules found out
    return std::nullopt;
  }
  return GateRefusal{.status = is_clear ? 500 : 400};
}

// What a client learns of its asks: the answer of the most pressing one, and fields of all.
struct GateAnswer {
  const Ask* ask = nullptr;  // null: all are in shadow, or count nothing
  const Answer* answer = nullptr;
  RateLimit limit{};

  bool allows() const { return ask == nullptr || answer->allowed(); }
};

// Puts answers into the fields that a configuration wants. What say() returns is valid until the
// next call.
class GateVoice {
 public:
  // `engine` outlives this.
  GateVoice(const Engine& engine, const RateLimitStyle& style) : engine_(engine) {
    said_.limit.style = style;
    said_.limit.texts = &texts_;
  }

  // REQUIRES: all asks are of one request
  const GateAnswer& say(const Asks& asks, Instant now);
  // Says one of several asks, each of its own request. Without a rule the policy is "default".
  const RateLimit& say_one(const Asks& asks, std::size_t index, Instant now);

 private:
  void add_items(const Asks& asks, std::size_t index);

  const Engine& engine_;
  GateAnswer said_;
  std::vector<RateLimitItem> items_;
  PolicyTexts texts_;
};

}  // namespace weir
