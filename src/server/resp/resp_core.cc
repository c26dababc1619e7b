#include "server/resp/resp_core.h"

#include <memory>
#include <utility>

#include "base/assert.h"
#include "server/resp/commands.h"

namespace weir {
namespace {

using resp::Protocol;
using resp::ReplyWriter;

// redis-cell cuts durations to milliseconds, and rounds what is left up.
std::int64_t cell_seconds(Duration duration) {
  return whole_seconds(std::chrono::floor<std::chrono::milliseconds>(duration));
}

}  // namespace

void write_decision(ReplyWriter& reply, const Decision& decision, ReplyForm form) {
  const auto seconds = [form](Duration duration) {
    return form == ReplyForm::kCell ? cell_seconds(duration) : whole_seconds(duration);
  };
  const bool can_wait = decision.verdict == Verdict::kDenied;
  std::int64_t retry = can_wait ? seconds(decision.retry_after) : -1;
  const std::int64_t reset = seconds(decision.reset_after);
  if (form == ReplyForm::kThrottlecrab) {
    if (decision.allowed()) retry = 0;
    const std::array<std::int64_t, 5> numbers = {decision.allowed() ? 1 : 0, decision.limit,
                                                 decision.remaining, reset, retry};
    return reply.integers(numbers);
  }
  const std::array<std::int64_t, 5> numbers = {decision.allowed() ? 0 : 1, decision.limit,
                                               decision.remaining, retry, reset};
  reply.integers(numbers);
}

RespCore::RespCore(RespNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : node_(node),
      engine_(engine),
      counts_(node.counts().add_core()),
      rules_(std::move(rules)),
      asks_(engine, blocks) {
  if (rules_ == nullptr) rules_ = std::make_shared<const RuleSet>();
}

void RespCore::use_rules(RuleSetPtr rules) {
  WEIR_ASSERT(queued_ == 0 && rules != nullptr);
  rules_ = std::move(rules);
}

Result<Quota> RespCore::make_quota(const QuotaSpec& spec) {
  if (spec == last_spec_) return last_quota_;
  const auto made = Quota::make(spec);
  if (made) {
    last_spec_ = spec;
    last_quota_ = *made;
  }
  return made;
}

void RespCore::execute(RespRequest& request) {
  counts_.record_command();
  const resp::Lookup found = resp::find_command(request.arguments);
  if (found.command == nullptr) return resp::refuse_unknown(*this, request, found);
  const resp::Command& command = *found.command;
  if (!resp::takes(command, request.arguments.size())) {
    return reply(request).error("ERR wrong number of arguments for '" + resp::full_name(command) +
                                "' command");
  }
  if (request.client.trust < command.needs) {
    return resp::refuse_access(*this, request, command);
  }
  // What is no check may change the client or the node: not before what came earlier is
  // answered, and not twice.
  const bool is_check = command.key_at != 0;
  if (!is_check) flush(request.out, request.now);
  if (!engine_.waits()) command.handle(*this, request);
}

ReplyWriter RespCore::reply(const RespRequest& request) {
  flush(request.out, request.now);
  return {request.out, request.client.protocol};
}

void RespCore::queue(const RespRequest& request, const Ask& ask, ReplyForm form) {
  if (queued_ == 0) asks_.begin(Operation::kSpendEach);
  const bool added = asks_.add(ask);
  WEIR_ASSERT(added);
  queue_[queued_++] = form;
  if (queued_ == queue_.size()) flush(request.out, request.now);
}

void RespCore::flush(OutputBuffer& out, Instant now) {
  if (queued_ == 0) return;
  const std::size_t count = std::exchange(queued_, 0);
  const bool store_answered = asks_.decide(now);
  if (engine_.waits()) return;
  const auto answers = asks_.answers();
  ReplyWriter reply(out, Protocol::kResp2);  // integers are the same in both
  for (std::size_t i = 0; i < count; ++i) {
    if (store_answered || answers[i].cause != Answer::Cause::kCounted) {
      write_decision(reply, answers[i].decision, queue_[i]);
    } else {
      reply.error(kStoreUnavailable);
    }
  }
}

Asks& RespCore::begin_asks(const RespRequest& request, Operation operation) {
  flush(request.out, request.now);  // asks_ are theirs until then
  asks_.begin(operation);
  return asks_;
}

}  // namespace weir
