// RateLimitCall: one call of Envoy's rate limit service on its way: which limit applies to
// each descriptor, what it says, and what that makes of the request.
//
// For each descriptor, one of
//
//   an inline limit   the descriptor brings it along; a fixed window, if the domain exists
//   a rule            that its entries lead to (rules/descriptor_tree.h)
//   nothing           the domain or the descriptor is unknown, or the rule exempts it, or
//                     another rule of the request replaces it: allowed, and not counted
//
// The call asks about all descriptors at once. With all_or_nothing those in quota mode come
// second, since they are charged only if the others allow it.
//
// Where we differ from the reference service, and why, is in docs/reference/envoy.md.
//
// Thread rule: one core. Tested by rate_limit_service_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/asks/asks_pool.h"
#include "weir/time.h"

// From here on the protocol's own names.
#include <envoy/service/ratelimit/v3/rls.pb.h>

namespace weir::rls {

using Request = envoy::service::ratelimit::v3::RateLimitRequest;
using Response = envoy::service::ratelimit::v3::RateLimitResponse;
using RequestDescriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

class RateLimitService;

// The `metadata` of rules that have some.
using Metadata = std::unordered_map<const Rule*, google::protobuf::Struct>;

// Why a request has no answer. Static text.
struct ServiceError {
  enum class Kind : std::uint8_t { kInvalidArgument, kUnavailable, kUnreadable };
  Kind kind;
  std::string_view message;
};

class RateLimitCall {
 public:
  static constexpr std::size_t kDescriptorsMax = Asks::kAsksMax;
  static constexpr std::size_t kUsualSizeMax = 16 << 10;  // bytes of a message

  // Filled by the caller, and by decide(). Both keep their memory from call to call.
  Request request;
  Response response;

  // Reads the message of a request; what is wrong with it, if there is no answer to it. One with
  // too many descriptors or entries becomes no objects: each may have two bytes in the message,
  // and 40 times as many in memory.
  std::optional<ServiceError> read(std::string_view message);
  // The request comes from so many bytes: what long ones took is given back with the call.
  void expect(std::size_t size) { is_long_ = size > kUsualSizeMax; }

  // kAnswered: `response` is the answer, unless error() says why there is none.
  // kWaits: the listener is called, and go_on() is to be called then.
  Asks::Progress decide(Instant now);
  Asks::Progress go_on(Instant now);
  void listen(Asks::Listener& listener) { asks_->listen(listener); }

  const std::optional<ServiceError>& error() const { return error_; }

  // For its pool.
  void begin(RateLimitService& service);
  void retire();

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

  std::optional<ServiceError> find_limits();
  std::optional<ServiceError> find_limit(const Descriptor& descriptor,
                                         const RequestDescriptor& asked, Limit& limit);
  std::optional<ServiceError> take_inline(const Descriptor& descriptor,
                                          const RequestDescriptor& asked, Limit& limit);
  void take_rule(const Descriptor& descriptor, const Rule& rule, Limit& limit);
  std::string& key_room(const Limit& limit);
  void drop_replaced();

  std::optional<ServiceError> ask(Group group, Operation operation);
  void take_answers();
  bool has_others() const;
  Asks::Progress refuse(const ServiceError& error);
  void write_response(Instant now);
  void count_details();
  void write_statuses(Instant now);
  bool is_over() const;
  void write_headers();
  void write_metadata();

  RateLimitService* service_ = nullptr;
  std::shared_ptr<const Metadata> metadata_;  // of the rules it began with
  RuleSetPtr rules_;                          // these rules, if the call waits
  AsksPtr asks_;
  Group asked_ = Group::kEnforced;
  std::optional<ServiceError> error_;
  std::vector<Limit> limits_;      // parallel to the request's descriptors
  std::vector<std::string> keys_;  // of the asks
  bool any_replaces_ = false;
  bool is_long_ = false;
  bool any_details_ = false;  // a rule wants to be counted by values
};

}  // namespace weir::rls
