// RateLimitService: what the calls of Envoy's rate limit service share on one core: the rules
// in force, the options, and memory to be used again.
//
// Thread rule: one core. Tested by rate_limit_service_test.cc.

#pragma once

#include <memory>

#include "base/pool.h"
#include "engine/asks/asks_pool.h"
#include "rls/rate_limit_call.h"
#include "rls/rls_options.h"
#include "rules/rule_set.h"

namespace weir::rls {

class RateLimitService {
 public:
  using CallPtr = Pool<RateLimitCall>::Ptr;

  // `engine` and `blocks` must outlive the service, and the service its calls.
  RateLimitService(Engine& engine, BlockList& blocks, RuleSetPtr rules, RlsOptions options);

  // From the next call on.
  void use_rules(RuleSetPtr rules);
  // A call that waits keeps those that it began with.
  const RuleSetPtr& rules() const { return asks_.rules(); }
  const RlsOptions& options() const { return options_; }

  CallPtr new_call();
  AsksPtr take_asks(Operation operation) { return asks_.take(operation); }

  // The `metadata` of the rules in force; null if answers do not carry it.
  const std::shared_ptr<const Metadata>& metadata() const { return metadata_; }

 private:
  const RlsOptions options_;
  AsksPool asks_;
  Pool<RateLimitCall> calls_;
  std::shared_ptr<const Metadata> metadata_;
};

}  // namespace weir::rls
