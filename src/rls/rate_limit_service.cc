#include "rls/rate_limit_service.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

namespace weir::rls {

RateLimitService::RateLimitService(Engine& engine, BlockList& blocks, RuleSetPtr rules,
                                   RlsOptions options)
    : options_(std::move(options)), asks_(engine, blocks) {
  use_rules(std::move(rules));
}

void RateLimitService::use_rules(RuleSetPtr rules) {
  rules_ = rules == nullptr ? std::make_shared<const RuleSet>() : std::move(rules);
  metadata_.clear();
  if (!options_.response_metadata) return;
  for (const Rule& rule : rules_->rules()) {
    google::protobuf::Struct metadata;
    const std::string& json = rule.policy.metadata_json;
    if (!json.empty() && google::protobuf::util::JsonStringToMessage(json, &metadata).ok()) {
      metadata_.emplace(&rule, std::move(metadata));
    }
  }
}

RateLimitService::CallPtr RateLimitService::new_call() {
  CallPtr call = calls_.take();
  call->begin(*this);
  return call;
}

}  // namespace weir::rls
