#include "server/resp/resp_core.h"

#include <memory>
#include <utility>

#include "base/assert.h"
#include "server/resp/commands.h"

namespace weir {
namespace {

using resp::Protocol;
using resp::ReplyWriter;

// What a disabled rule answers: allowed, as if the key had never been seen.
Decision untouched(std::int64_t capacity) { return {.limit = capacity, .remaining = capacity}; }

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

RespCore::RespCore(RespNode& node, Engine& engine, RuleSetPtr rules)
    : node_(node), engine_(engine), counts_(node.counts().add_core()), rules_(std::move(rules)) {
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
  command.handle(*this, request);
}

ReplyWriter RespCore::reply(const RespRequest& request) {
  flush(request.out, request.now);
  return {request.out, request.client.protocol};
}

void RespCore::queue(const RespRequest& request, const RespTerms& terms, ReplyForm form) {
  if (queued_ == 0) check_.begin(Operation::kSpendEach);
  queue_[queued_] = {.form = form, .counts = terms.counts, .capacity = terms.quota.capacity()};
  ++queued_;
  if (terms.counts) check_.add(terms.key, terms.quota, terms.cost);
  if (queued_ == queue_.size()) flush(request.out, request.now);
}

void RespCore::flush(OutputBuffer& out, Instant now) {
  if (queued_ == 0) return;
  const bool store_answered = check_.size() == 0 || check_.decide(engine_, now);
  ReplyWriter reply(out, Protocol::kResp2);  // integers are the same in both
  std::size_t next = 0;
  for (std::size_t i = 0; i < queued_; ++i) {
    const Queued& queued = queue_[i];
    if (!queued.counts) {
      write_decision(reply, untouched(queued.capacity), queued.form);
    } else if (store_answered) {
      write_decision(reply, check_.decisions()[next++], queued.form);
    } else {
      reply.error(kStoreUnavailable);
    }
  }
  queued_ = 0;
}

bool RespCore::decide(const RespRequest& request, Operation operation,
                      std::span<const RespTerms> terms, std::span<Decision> decisions) {
  WEIR_ASSERT(terms.size() == decisions.size() && terms.size() <= Batch::kChargesMax);
  flush(request.out, request.now);  // check_ is theirs until then
  check_.begin(operation);
  for (const RespTerms& term : terms) {
    if (term.counts) check_.add(term.key, term.quota, term.cost);
  }
  if (check_.size() > 0 && !check_.decide(engine_, request.now)) return false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    decisions[i] =
        terms[i].counts ? check_.decisions()[next++] : untouched(terms[i].quota.capacity());
  }
  return true;
}

}  // namespace weir
