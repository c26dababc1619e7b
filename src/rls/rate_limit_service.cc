#include "rls/rate_limit_service.h"

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <utility>

namespace weir::rls {

RateLimitService::RateLimitService(Engine& engine, BlockList& blocks, RuleSetPtr rules,
                                   RlsOptions options)
    : options_(std::move(options)), asks_(engine, blocks, rules, DenialDoor::kGrpc) {
  use_rules(std::move(rules));
}

void RateLimitService::use_rules(RuleSetPtr rules) {
  asks_.use_rules(std::move(rules));
  if (!options_.envoy.response_metadata) return;
  auto metadata_of_rules = std::make_shared<Metadata>();
  for (const Rule& rule : asks_.rules()->rules()) {
    google::protobuf::Struct metadata;
    const std::string& json = rule.policy.metadata_json;
    if (!json.empty() && google::protobuf::util::JsonStringToMessage(json, &metadata).ok()) {
      metadata_of_rules->emplace(&rule, std::move(metadata));
    }
  }
  metadata_ = std::move(metadata_of_rules);
}

RateLimitService::CallPtr RateLimitService::new_call() {
  CallPtr call = calls_.take();
  call->begin(*this);
  return call;
}

}  // namespace weir::rls
