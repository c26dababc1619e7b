#include "server/resp/resp_core.h"

#include <cstring>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "proto/http/rate_limit_headers.h"
#include "server/resp/commands.h"
#include "server/resp/rehearsal.h"

namespace weir {
namespace {

using resp::Protocol;
using resp::ReplyWriter;

// redis-cell cuts durations to milliseconds, and then rounds up.
std::int64_t cell_seconds(Duration duration) {
  return whole_seconds(std::chrono::floor<std::chrono::milliseconds>(duration));
}

// Writes the replies to checks that were decided together.
void write_queued(OutputBuffer& out, Instant, const Asks& asks,
                  const CheckQueue<ReplyForm>::Notes& forms) {
  ReplyWriter reply(out, Protocol::kResp2);  // integers are the same in both
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (is_answered(asks, i)) {
      write_decision(reply, asks.answer(i).decision, forms[i]);
    } else {
      reply.error(kStoreUnavailable);
    }
  }
}

// An error that is sent after a pause.
class LateError final : public LateReply<OutputBuffer> {
 public:
  LateError(std::string_view error, Instant due_at) : error_(error), due_at_(due_at) {}
  Instant due_at() const override { return due_at_; }

 private:
  bool try_write(OutputBuffer& out, Instant) override {
    ReplyWriter(out, Protocol::kResp2).error(error_);  // errors are the same in both
    return true;
  }

  const std::string error_;
  const Instant due_at_;
};

}  // namespace

void write_decision(ReplyWriter& reply, const Decision& decision, ReplyForm form) {
  const auto seconds = [form](Duration duration) {
    return form == ReplyForm::kCell ? cell_seconds(duration) : whole_seconds(duration);
  };
  const bool can_wait = decision.verdict == Verdict::kDenied;
  // Borrowed commands answer as the originals, even if a key owes more than its limit.
  const Duration wait = form == ReplyForm::kWeir ? wait_of(decision) : decision.retry_after;
  std::int64_t retry = can_wait ? seconds(wait) : -1;
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

void Throttle::keep(std::string_view command, std::string_view key) {
  constexpr std::size_t kKeyMax = 99;  // two digits
  constexpr std::size_t kCommandMax = 256;
  if (!command.starts_with('*') || key.size() > kKeyMax || command.size() > kCommandMax) return;
  const auto key_at = static_cast<std::size_t>(key.data() - command.data());
  before = command.substr(0, key_at - (key.size() > 9 ? 4 : 3));
  behind = command.substr(key_at + key.size());
}

std::optional<std::string_view> Throttle::key_in(std::string_view input) const {
  constexpr std::size_t kSizeMax = 4;  // of "99" and its line end
  const auto is_at = [](const char* at, std::string_view text) {
    return std::memcmp(at, text.data(), text.size()) == 0;
  };
  if (before.empty() || input.size() < before.size() + kSizeMax) return std::nullopt;
  if (!is_at(input.data(), before)) return std::nullopt;
  const char* const digits = input.data() + before.size();
  const auto first = static_cast<unsigned>(digits[0] - '0');
  const auto second = static_cast<unsigned>(digits[1] - '0');
  const bool has_two = first > 0 && second <= 9;
  const std::size_t size = has_two ? 10 * first + second : first;
  const char* const key = digits + kSizeMax - (has_two ? 0 : 1);
  const auto there = static_cast<std::size_t>(input.data() + input.size() - key);
  const bool is_whole = first <= 9 && there >= size + behind.size();
  if (!is_whole || !is_at(key - 2, "\r\n") || !is_at(key + size, behind)) return std::nullopt;
  return std::string_view(key, size);
}

RespCore::RespCore(RespNode& node, Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : node_(node),
      engine_(engine),
      counts_(node.counts().add_core()),
      asks_(engine, blocks, std::move(rules), DenialDoor::kResp) {}

void RespCore::use_rules(RuleSetPtr rules) {
  WEIR_ASSERT(queue_.empty() && rules != nullptr);
  asks_.use_rules(std::move(rules));
}

resp::Lookup RespCore::find_command(const RespRequest& request) {
  if (request.arguments[0] == last_name_) return {.command = last_command_};
  const resp::Lookup found = resp::find_command(request.arguments);
  if (found.command != nullptr && !found.command->has_subcommands && found.container == nullptr) {
    last_name_ = request.arguments[0];
    last_command_ = found.command;
  }
  return found;
}

std::optional<std::string_view> RespCore::throttled_key(std::string_view input) {
  for (std::size_t tried = 0; tried < throttles_.size(); ++tried) {
    if (const auto key = last_throttle().key_in(input)) return key;
    new_throttle();
  }
  return std::nullopt;
}

void RespCore::repeat_throttle(const RespRequest& request, std::string_view key) {
  counts_.add_one(kRespCommands);
  Throttle& throttle = last_throttle();
  throttle.ask.key = key;
  queue(request, throttle.ask, throttle.form);
}

bool RespCore::execute(RespRequest& request) {
  const resp::Lookup found = find_command(request);
  const bool is_check = found.command != nullptr && found.command->key_at != 0;
  if (!is_check || request.client.queues() || request.client.failed_logins > 0) {
    flush(request.line, request.now);
    if (request.line.waits()) return false;
  }
  execute(request, found);
  return true;
}

void RespCore::execute(RespRequest& request, const resp::Lookup& found) {
  const auto error = resp::refusal(*this, request, found);
  const bool is_queued =
      !error && request.client.queues() && found.command->in_multi == resp::InMulti::kQueued;
  if (is_queued) return resp::queue_command(*this, request, *found.command);
  counts_.add_one(kRespCommands);
  if (error) return resp::refuse(*this, request, found, *error);
  found.command->handle(*this, request);
}

ReplyWriter RespCore::reply(const RespRequest& request) {
  flush(request.line, request.now);
  return {request.line.end(), request.client.protocol};
}

void RespCore::reply_late(const RespRequest& request, std::string_view error, Duration pause) {
  flush(request.line, request.now);
  request.line.park(std::make_unique<LateError>(error, request.now + pause), request.now);
}

void RespCore::queue(const RespRequest& request, const Ask& ask, ReplyForm form) {
  if (request.rehearsal != nullptr) return request.rehearsal->take(ask, form);
  if (!queue_.keeps_order(ask)) flush(request.line, request.now);
  queue_.add(ask, form);
  if (queue_.is_full()) flush(request.line, request.now);
}

void RespCore::flush(RespLine& line, Instant now) { queue_.flush(line, now, write_queued); }

AsksPtr RespCore::begin_asks(const RespRequest& request, Operation operation) {
  flush(request.line, request.now);
  return asks_.take(operation);
}

}  // namespace weir
