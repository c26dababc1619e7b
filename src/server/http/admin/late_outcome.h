// Shared by the pages that change something on a thread of its own: the reply that waits for the
// outcome, the version in it, and its status.
//
// Thread rule: the core's; an outcome comes from any thread. Tested by http_rules_test.cc.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/late_reply.h"
#include "base/name_value.h"
#include "rulebook/rule_desk.h"
#include "server/http/http_core.h"

namespace weir {

// A reply to a request that another thread answers: parked until the outcome has come.
// It shares its Arrival with the message that brings the outcome to this core: either may be gone
// first.
template <typename Outcome>
class LateOutcome final : public LateReply<ReplySink> {
 public:
  using Write = std::function<void(const Recipient&, const Outcome&)>;

  struct Arrival {
    std::optional<Outcome> outcome;
    LateOutcome* waits = nullptr;

    void take(Outcome that) {
      outcome = std::move(that);
      if (waits != nullptr) waits->due();
    }
  };

  LateOutcome(const Recipient& to, Write write, std::shared_ptr<Arrival> arrival)
      : to_(to), write_(std::move(write)), arrival_(std::move(arrival)) {
    arrival_->waits = this;
  }
  ~LateOutcome() override { arrival_->waits = nullptr; }

 private:
  bool try_write(ReplySink& out, Instant now) override {
    write_(to_.at(out, now), *arrival_->outcome);
    return true;
  }

  const Recipient to_;
  const Write write_;
  const std::shared_ptr<Arrival> arrival_;
};

// Calls begin(done), which passes the work on; done(outcome) is called once, on any thread. `write`
// writes the outcome, on the core of the request.
template <typename Outcome, typename Begin>
void answer_later(HttpCore& core, const Exchange& exchange, Begin begin,
                  typename LateOutcome<Outcome>::Write write) {
  const auto arrival = std::make_shared<typename LateOutcome<Outcome>::Arrival>();
  begin([arrival, post = core.post()](Outcome outcome) {
    post([arrival, outcome = std::move(outcome)] { arrival->take(outcome); });
  });
  if (arrival->outcome) return write(exchange, *arrival->outcome);
  exchange.line.park(std::make_unique<LateOutcome<Outcome>>(exchange, std::move(write), arrival),
                     exchange.now);
}

// The fields of a reply that tell the version of the thing changed, and when a refusal ends by
// itself.
class VersionFields {
 public:
  explicit VersionFields(std::uint64_t version) : VersionFields(std::to_string(version), {}) {}
  VersionFields(const std::string& tag, Duration retry_after)
      : etag_('"' + tag + '"'),
        seconds_(std::to_string(whole_seconds(retry_after))),
        count_(retry_after > Duration{0} ? 3 : 2) {}
  operator std::span<const NameValue>() const { return std::span(fields_).first(count_); }

 private:
  const std::string etag_;
  const std::string seconds_;
  const std::size_t count_;
  const std::array<NameValue, 3> fields_ = {
      {kNoStore[0], {"ETag", etag_}, {"Retry-After", seconds_}}};
};

inline int status_of(ChangeOutcome outcome) {
  using enum ChangeOutcome;
  switch (outcome) {
    case kDone: break;
    case kAdded: return 201;
    case kMalformed: return 400;
    case kUnknown: return 404;
    case kConflict: return 409;
    case kOutdated: return 412;
    case kNotNow: return 503;
  }
  return 200;
}

}  // namespace weir
