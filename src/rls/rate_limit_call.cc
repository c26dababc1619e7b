#include "rls/rate_limit_call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "rls/limit_terms.h"
#include "rls/rate_limit_service.h"
#include "rules/rule_key.h"

namespace weir::rls {
namespace {

constexpr std::uint32_t kUnlimitedRemaining = std::numeric_limits<std::uint32_t>::max();

constexpr ServiceError invalid(std::string_view message) {
  return {.kind = ServiceError::Kind::kInvalidArgument, .message = message};
}

constexpr ServiceError kNoDomain = invalid("rate limit domain must not be empty");
constexpr ServiceError kNoDescriptors = invalid("rate limit descriptor list must not be empty");
constexpr ServiceError kTooManyDescriptors = invalid("a request may have 256 descriptors at most");
constexpr ServiceError kTooManyAtOnce =
    invalid("16 descriptors at most can be charged all or nothing");
constexpr ServiceError kTooManyEntries = invalid("a descriptor may have 32 entries at most");
constexpr ServiceError kNoUnit = invalid("an inline limit needs a unit");
constexpr ServiceError kUnreadable = {.kind = ServiceError::Kind::kUnreadable,
                                      .message = "the message is not what the method expects"};
constexpr ServiceError kStoreUnavailable = {.kind = ServiceError::Kind::kUnavailable,
                                            .message = "the counters are out of reach"};

std::uint32_t clamp_to_32_bits(std::int64_t number) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Whether a message has more of the field than it may, as far as it can be read at all. `visit`
// looks into each, and says what is wrong with it.
template <typename Visit>
std::optional<ServiceError> visit_each(CodedInputStream& message, std::uint32_t field,
                                       const Visit& visit) {
  const auto wanted =
      WireFormatLite::MakeTag(static_cast<int>(field), WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const std::uint32_t tag = message.ReadTag()) {
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&message, tag)) break;
      continue;
    }
    int size = 0;
    if (!message.ReadVarintSizeAsInt(&size)) break;
    const auto limit = message.PushLimit(size);
    const auto error = visit();
    if (error || !message.Skip(message.BytesUntilLimit())) return error;
    message.PopLimit(limit);
  }
  return std::nullopt;
}

// Refuses what decide() would, before there are objects for all of it.
std::optional<ServiceError> find_excess(std::string_view message) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                      static_cast<int>(message.size()));
  std::size_t descriptors = 0;
  return visit_each(in, Request::kDescriptorsFieldNumber, [&]() -> std::optional<ServiceError> {
    if (++descriptors > RateLimitCall::kDescriptorsMax) return kTooManyDescriptors;
    std::size_t entries = 0;
    return visit_each(in, RequestDescriptor::kEntriesFieldNumber,
                      [&]() -> std::optional<ServiceError> {
                        if (++entries > Descriptor::kEntriesMax) return kTooManyEntries;
                        return std::nullopt;
                      });
  });
}

}  // namespace

// A look at a quota that has nothing left is over, as the next unit would be; not where that
// unit would count, which the look after it finds. A request that a shadow lets pass is not over
// either.
bool RateLimitCall::Limit::is_over() const {
  if (kind != Kind::kCounted) return false;
  const bool would_count = ask.counts_always(1) && answer.quota.limit() > 0;
  const bool nothing_left = ask.cost == 0 && answer.decision.remaining == 0 && !would_count;
  return !answer.allowed() || (nothing_left && !ask.is_shadow());
}

void RateLimitCall::begin(RateLimitService& service) {
  service_ = &service;
  metadata_ = service.metadata();
}

void RateLimitCall::retire() {
  asks_.reset();
  metadata_.reset();
  rules_.reset();
  if (!std::exchange(is_long_, false)) return;
  request = {};
  response = {};
  limits_ = {};
  keys_ = {};
}

std::optional<ServiceError> RateLimitCall::read(std::string_view message) {
  expect(message.size());
  if (is_long_) {
    if (const auto error = find_excess(message)) return error;
  }
  const bool is_read = request.ParseFromArray(message.data(), static_cast<int>(message.size()));
  return is_read ? std::nullopt : std::optional(kUnreadable);
}

Asks::Progress RateLimitCall::decide(Instant now) {
  response.Clear();
  error_.reset();
  if (request.domain().empty()) return refuse(kNoDomain);
  if (request.descriptors().empty()) return refuse(kNoDescriptors);
  if (request.descriptors_size() > static_cast<int>(kDescriptorsMax)) {
    return refuse(kTooManyDescriptors);
  }
  if (const auto error = find_limits()) return refuse(*error);
  if (any_replaces_) drop_replaced();
  const bool together = service_->options().envoy.all_or_nothing;
  const auto error = ask(Group::kEnforced, together ? Operation::kSpendAll : Operation::kSpendEach);
  if (error) return refuse(*error);
  asks_->decide(now);
  const Asks::Progress progress = go_on(now);
  if (progress == Asks::Progress::kWaits) rules_ = service_->rules();
  return progress;
}

Asks::Progress RateLimitCall::go_on(Instant now) {
  while (asks_->progress() == Asks::Progress::kAnswered) {
    take_answers();
    if (asked_ == Group::kOther || !has_others()) {
      write_response(now);
      return Asks::Progress::kAnswered;
    }
    const bool denied = std::ranges::any_of(limits_, [](const Limit& limit) {
      return limit.group == Group::kEnforced && limit.is_over();
    });
    ask(Group::kOther, denied ? Operation::kLook : Operation::kSpendEach);
    asks_->decide(now);
  }
  if (asks_->progress() == Asks::Progress::kWaits) return Asks::Progress::kWaits;
  return refuse(kStoreUnavailable);
}

Asks::Progress RateLimitCall::refuse(const ServiceError& error) {
  error_ = error;
  return Asks::Progress::kAnswered;
}

std::optional<ServiceError> RateLimitCall::find_limits() {
  const auto count = static_cast<std::size_t>(request.descriptors_size());
  limits_.assign(count, Limit());
  if (keys_.size() < count) keys_.resize(count);
  any_replaces_ = false;
  any_details_ = false;
  if (!service_->rules()->has_domain(request.domain())) return std::nullopt;
  std::array<NameValue, Descriptor::kEntriesMax> entries;
  for (int i = 0; i < request.descriptors_size(); ++i) {
    const RequestDescriptor& asked = request.descriptors(i);
    const auto size = static_cast<std::size_t>(asked.entries_size());
    if (size > entries.size()) return kTooManyEntries;
    std::ranges::transform(asked.entries(), entries.begin(), [](const auto& entry) {
      return NameValue{.name = entry.key(), .value = entry.value()};
    });
    Limit& limit = limits_[static_cast<std::size_t>(i)];
    limit.ask.cost = cost_of(asked, request.hits_addend());
    const Descriptor descriptor{.domain = request.domain(), .entries = {entries.data(), size}};
    if (auto error = find_limit(descriptor, asked, limit)) return error;
  }
  return std::nullopt;
}

std::optional<ServiceError> RateLimitCall::find_limit(const Descriptor& descriptor,
                                                      const RequestDescriptor& asked,
                                                      Limit& limit) {
  if (asked.has_limit()) return take_inline(descriptor, asked, limit);
  const Rule* const rule = service_->rules()->match(descriptor);
  if (rule != nullptr && rule->effect != Rule::Effect::kExempt) {
    take_rule(descriptor, *rule, limit);
  }
  return std::nullopt;
}

std::optional<ServiceError> RateLimitCall::take_inline(const Descriptor& descriptor,
                                                       const RequestDescriptor& asked,
                                                       Limit& limit) {
  const auto quota = inline_quota(asked.limit());
  if (!quota) return kNoUnit;
  limit.kind = Kind::kCounted;
  limit.ask.quota = *quota;
  if (!service_->options().envoy.all_or_nothing) limit.ask.counting = Ask::Counting::kAlways;
  limit.ask.bucket = descriptor.domain;
  limit.ask.key = joined_entries(descriptor.entries, key_room(limit));
  return std::nullopt;
}

void RateLimitCall::take_rule(const Descriptor& descriptor, const Rule& rule, Limit& limit) {
  limit.ask.rule = &rule;
  any_replaces_ = any_replaces_ || !rule.policy.replaces.empty();
  any_details_ = any_details_ || rule.policy.detailed_metric || rule.policy.value_to_metric;
  if (rule.effect == Rule::Effect::kUnlimited) {
    limit.kind = Kind::kUnlimited;
    return;
  }
  limit.kind = Kind::kCounted;
  if (service_->options().envoy.all_or_nothing) {
    if (rule.policy.quota_mode) limit.group = Group::kOther;
    // A denial is to charge nothing, unless the rule says otherwise.
    const bool is_said = rule.overdraft == Rule::Overdraft::kAll;
    limit.ask.counting = is_said ? Ask::Counting::kAlways : Ask::Counting::kIfItFits;
  }
  limit.ask.key = key_of(rule, descriptor, key_room(limit));
}

std::string& RateLimitCall::key_room(const Limit& limit) {
  return keys_[static_cast<std::size_t>(&limit - limits_.data())];
}

void RateLimitCall::drop_replaced() {
  const auto is_replaced = [&](const std::string& name) {
    return std::ranges::any_of(limits_, [&](const Limit& limit) {
      return limit.rule() != nullptr && std::ranges::count(limit.rule()->policy.replaces, name) > 0;
    });
  };
  // Marked first: a limit that is itself replaced still replaces others.
  std::array<bool, kDescriptorsMax> replaced{};
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const Rule* const rule = limits_[i].rule();
    replaced[i] = rule != nullptr && !rule->policy.name.empty() && is_replaced(rule->policy.name);
  }
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (replaced[i]) limits_[i] = Limit();
  }
}

// Asks about the limits of one group.
std::optional<ServiceError> RateLimitCall::ask(Group group, Operation operation) {
  asked_ = group;
  asks_ = service_->take_asks(operation);
  if (service_->options().envoy.shadow_mode) asks_->let_pass();
  for (const Limit& limit : limits_) {
    if (limit.kind != Kind::kCounted || limit.group != group) continue;
    if (!asks_->add(limit.ask)) return kTooManyAtOnce;
  }
  return std::nullopt;
}

// They are in the order of the asks.
void RateLimitCall::take_answers() {
  std::size_t next = 0;
  for (Limit& limit : limits_) {
    if (limit.kind != Kind::kCounted || limit.group != asked_) continue;
    limit.answer = asks_->answer(next++);
  }
}

bool RateLimitCall::has_others() const {
  return std::ranges::any_of(limits_, [](const Limit& limit) {
    return limit.kind == Kind::kCounted && limit.group == Group::kOther;
  });
}

void RateLimitCall::write_response(Instant now) {
  if (any_details_) count_details();
  write_statuses(now);
  const EnvoySettings& options = service_->options().envoy;
  response.set_overall_code(is_over() && !options.shadow_mode ? Response::OVER_LIMIT
                                                              : Response::OK);
  if (options.response_headers) write_headers();
  if (metadata_ != nullptr) write_metadata();
}

// All values of the descriptor with detailed_metric, the last with value_to_metric.
void RateLimitCall::count_details() {
  if (service_->options().detailed_counts == nullptr) return;
  std::string values;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const Rule* const rule = limits_[i].rule();
    if (rule == nullptr || limits_[i].kind != Kind::kCounted) continue;
    const auto& entries = request.descriptors(static_cast<int>(i)).entries();
    values.clear();
    if (rule->policy.detailed_metric) {
      for (const auto& entry : entries) {
        if (!values.empty()) values += '/';
        values.append(entry.key()).append("=").append(entry.value());
      }
    } else if (rule->policy.value_to_metric) {
      values = entries.rbegin()->value();
    } else {
      continue;
    }
    service_->options().detailed_counts->record(rule->id, values,
                                                limits_[i].answer.over
                                                    ? DetailedCounts::Outcome::kOverLimit
                                                    : DetailedCounts::Outcome::kWithinLimit);
  }
}

void RateLimitCall::write_statuses(Instant now) {
  for (const Limit& limit : limits_) {
    auto& status = *response.add_statuses();
    status.set_code(limit.is_over() ? Response::OVER_LIMIT : Response::OK);
    if (limit.kind == Kind::kNone) continue;
    if (limit.kind == Kind::kUnlimited) {
      status.set_limit_remaining(kUnlimitedRemaining);
      continue;
    }
    const Decision& decision = limit.answer.decision;
    const Quota& quota = limit.answer.quota;
    if (!limit.is_over()) status.set_limit_remaining(clamp_to_32_bits(decision.remaining));
    status.mutable_duration_until_reset()->set_seconds(seconds_until_reset(quota, decision, now));
    auto& current = *status.mutable_current_limit();
    current.set_requests_per_unit(clamp_to_32_bits(quota.limit()));
    current.set_unit(unit_of(quota));
    if (limit.rule() != nullptr) current.set_name(limit.rule()->policy.name);
  }
}

// Limits in quota mode count only if all of them are over.
bool RateLimitCall::is_over() const {
  std::size_t in_quota_mode = 0;
  std::size_t over_in_quota_mode = 0;
  for (const Limit& limit : limits_) {
    if (limit.is_quota_mode()) {
      ++in_quota_mode;
      over_in_quota_mode += limit.is_over() ? 1 : 0;
    } else if (limit.is_over()) {
      return true;
    }
  }
  return in_quota_mode > 0 && over_in_quota_mode == in_quota_mode;
}

// About the limit that is over, or else has the least left.
void RateLimitCall::write_headers() {
  const Response::DescriptorStatus* tightest = nullptr;
  for (const auto& status : response.statuses()) {
    if (!status.has_current_limit()) continue;
    const bool is_over = status.code() == Response::OVER_LIMIT;
    if (tightest == nullptr || is_over || status.limit_remaining() < tightest->limit_remaining()) {
      tightest = &status;
    }
    if (is_over) break;
  }
  if (tightest == nullptr) return;
  const auto add = [&](const std::string& name, std::string value) {
    auto& header = *response.add_response_headers_to_add();
    header.set_key(name);
    header.set_value(std::move(value));
  };
  const auto& names = service_->options().envoy;
  add(names.limit_header, std::to_string(tightest->current_limit().requests_per_unit()));
  add(names.remaining_header, std::to_string(tightest->limit_remaining()));
  add(names.reset_header, std::to_string(tightest->duration_until_reset().seconds()));
  const auto is_alone = [](const Limit& limit) { return limit.answer.is_alone; };
  if (std::ranges::any_of(limits_, is_alone)) add("X-Weir-Mode", "local");
}

void RateLimitCall::write_metadata() {
  for (const Limit& limit : limits_) {
    const auto found = metadata_->find(limit.rule());
    if (found == metadata_->end() || limit.is_over()) continue;
    response.mutable_dynamic_metadata()->MergeFrom(found->second);
  }
}

}  // namespace weir::rls
