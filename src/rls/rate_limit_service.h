// RateLimitService: what Envoy's rate limit service is asked, decided: which limit
// applies to each descriptor, what it says, and what that makes of the request.
//
// For each descriptor, one of
//
//   an inline limit   the descriptor brings it along; a fixed window, if the domain exists
//   a rule            that its entries lead to (rules/descriptor_tree.h)
//   nothing           the domain or the descriptor is unknown, or the rule exempts it, or
//                     another rule of the request replaces it: allowed, and not counted
//
// Where we differ from the reference service, and why, is in docs/envoy.md.
//
// Requests and responses are kept by whoever asks and reused, so that nothing is
// allocated once they have grown.
//
// Thread rule: one core. Tested by rate_limit_service_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/asks.h"
#include "rls/rls_options.h"
#include "rules/rule_set.h"
#include "weir/time.h"

// From here on the protocol's own names.
#include <envoy/service/ratelimit/v3/rls.pb.h>

namespace weir::rls {

using Request = envoy::service::ratelimit::v3::RateLimitRequest;
using Response = envoy::service::ratelimit::v3::RateLimitResponse;
using RequestDescriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

// Why a request has no answer. Static text.
struct ServiceError {
  enum class Kind : std::uint8_t { kInvalidArgument, kUnavailable };
  Kind kind;
  std::string_view message;
};

class RateLimitService {
 public:
  // Of one request; several batches of the store.
  static constexpr std::size_t kDescriptorsMax = 256;

  // `engine` and `blocks` must outlive the service.
  RateLimitService(Engine& engine, BlockList& blocks, RuleSetPtr rules, RlsOptions options);

  // From the next request on.
  void use_rules(RuleSetPtr rules);

  // Fills `response`, which is cleared first. After an error it means nothing.
  std::optional<ServiceError> should_rate_limit(const Request& request, Response& response,
                                                Instant now);

 private:
  enum class Kind : std::uint8_t { kNone, kUnlimited, kCounted };
  enum class Group : std::uint8_t { kEnforced, kOther };

  // What applies to one descriptor.
  struct Limit {
    Kind kind = Kind::kNone;
    Group group = Group::kEnforced;
    Ask ask{};  // its rule is null of an inline limit
    Answer answer{};

    bool is_over() const;
    const Rule* rule() const { return ask.rule; }
    bool is_quota_mode() const { return rule() != nullptr && rule()->policy.quota_mode; }
  };

  std::optional<ServiceError> find_limits(const Request& request);
  std::optional<ServiceError> find_limit(const Descriptor& descriptor,
                                         const RequestDescriptor& asked, Limit& limit);
  std::optional<ServiceError> take_inline(const Descriptor& descriptor,
                                          const RequestDescriptor& asked, Limit& limit);
  void take_rule(const Descriptor& descriptor, const Rule& rule, Limit& limit);
  std::string& key_room(const Limit& limit);
  void drop_replaced();
  bool fit_together();
  std::optional<ServiceError> decide(Instant now);
  bool charge(Group group, Operation operation, Instant now);
  bool charge_batch(std::size_t& next, Group group, Operation operation, Instant now);
  void count_details(const Request& request);
  void write_statuses(Response& response, Instant now) const;
  bool is_over() const;
  void write_headers(const Response& statuses, Response& response) const;
  void write_metadata(Response& response) const;

  RuleSetPtr rules_;
  RlsOptions options_;
  Asks asks_;
  std::vector<Limit> limits_;  // parallel to the request's descriptors
  bool any_replaces_ = false;
  bool any_details_ = false;       // a rule wants to be counted by values
  std::vector<std::string> keys_;  // of the asks
  std::unordered_map<const Rule*, google::protobuf::Struct> metadata_;  // of rules_
};

}  // namespace weir::rls
