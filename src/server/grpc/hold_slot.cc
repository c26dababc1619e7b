#include "server/grpc/hold_slot.h"

#include "base/if_memory.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kKeyMax = 4096;  // bytes

constexpr Status kOver = {.code = Code::kDeadlineExceeded, .message = "the slot's time is over"};
constexpr Status kLost = {.code = Code::kAborted, .message = "the slot has ended before its time"};
constexpr Status kNoStore = {.code = Code::kUnavailable, .message = "the store did not answer"};
constexpr Status kNoRoom = {.code = Code::kResourceExhausted, .message = kTooManyHeld};
constexpr Status kBadKey = {.code = Code::kInvalidArgument,
                            .message = "key: must have 1 to 4096 bytes"};

void set_duration(google::protobuf::Duration& to, Duration from) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(from);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(from - seconds).count()));
}

}  // namespace

// Kept by the stream. It hears when its slot is answered, or has ended.
class HoldSlot::OpenCall final : public LateReply<Http2Stream> {
 public:
  OpenCall(HoldSlot& of, Slots::iterator slot);
  ~OpenCall() override;
  void wake() { due(); }

 private:
  bool try_write(Http2Stream& stream, Instant now) override;

  HoldSlot& of_;
  const Slots::iterator slot_;
};

// A slot outlives its call, until it is released.
class HoldSlot::Slot final : Asks::Listener {
 public:
  Slot(HoldSlot& of, AsksPtr asks, Instant until)
      : of_(of), asks_(std::move(asks)), until_(until) {}

  void belong_to(OpenCall* call) { call_ = call; }
  Instant until() const { return until_; }
  void decide(Instant now) { asks_->decide(now); }
  // REQUIRES: it is not taken yet
  const Asks& asks() const { return *asks_; }
  bool waits() {
    const bool waits = asks_ != nullptr && asks_->progress() == Asks::Progress::kWaits;
    if (waits) asks_->listen(*this);
    return waits;
  }

  // After the answer. False: the call got no slot.
  bool take(Instant now) {
    const AsksPtr asks = std::move(asks_);
    if (asks->progress() == Asks::Progress::kAnswered) hold_ = asks->holding().hold(now);
    return is_taken();
  }
  bool is_taken() const { return !hold_.token.empty(); }
  bool is_over() const { return !is_taken() && asks_ == nullptr; }
  // A slot that only the store knows goes on until its time is over.
  bool goes_on(Instant now) const {
    return !hold_.here || of_.engine_.holds->has_slot(*hold_.here, now);
  }
  void tell_that_it_ended() {
    hold_ = {};
    call_->wake();
  }

  // Asks for its release. True: nothing is left to do.
  bool release(Instant now) {
    if (waits()) return false;
    if (!is_taken() && !take(now)) return true;
    if (asks_ != nullptr || now >= until_) return true;
    AsksPtr asks = of_.asks_.take(Operation::kLook);
    asks->holding().release(hold_.token);
    asks->decide(now);
    asks_ = std::move(asks);
    return !waits();
  }

 private:
  void decided() noexcept override {
    if (call_ != nullptr) return call_->wake();
    of_.ring_by(Instant{});
  }

  HoldSlot& of_;
  AsksPtr asks_;  // for the slot, and once it is taken, for its release
  const Instant until_;
  OpenCall* call_ = nullptr;
  Holding::Hold hold_{};
};

HoldSlot::OpenCall::OpenCall(HoldSlot& of, Slots::iterator slot) : of_(of), slot_(slot) {
  slot_->belong_to(this);
}

HoldSlot::OpenCall::~OpenCall() {
  slot_->belong_to(nullptr);
  of_.leave(slot_);
}

bool HoldSlot::OpenCall::try_write(Http2Stream& stream, Instant now) {
  if (slot_->waits()) return false;
  if (!stream.is_begun()) return of_.answer(stream, *slot_, now);
  if (!stream.is_finished()) end_reply(stream, kLost);
  return true;
}

HoldSlot::HoldSlot(Engine& engine, BlockList& blocks, RuleSetPtr rules)
    : engine_(engine), asks_(engine, blocks, std::move(rules), DenialDoor::kGrpc) {}

HoldSlot::~HoldSlot() = default;

void HoldSlot::begin_serving(Reactor& reactor) {
  alarm_ = reactor.make_alarm([this](Instant now) { ring(now); });
  ring_by(ring_at_);
}

// ---- calls ----

// Uses the first message only; drops the rest.
void HoldSlot::arrived(Http2Stream& stream, Instant now) {
  const Message message = find_message(stream.body());
  const bool is_first = !stream.is_begun() && !stream.is_parked();
  if (is_first && message.framing == Framing::kPartial) return;
  if (is_first && message.framing != Framing::kComplete) {
    return refuse_message(stream, message.framing);
  }
  Ask ask;
  Duration length{0};
  const auto wrong = is_first ? read(message.payload, ask, length) : std::nullopt;
  stream.consume(stream.body().size());
  if (wrong) return refuse(stream, *wrong);
  if (is_first) begin_call(stream, ask, length, now);
}

void HoldSlot::completed(Http2Stream& stream, Instant) {
  if (stream.is_begun()) return end_reply(stream, {});
  if (!stream.is_parked()) refuse_message(stream, Framing::kPartial);
}

void HoldSlot::begin_call(Http2Stream& stream, const Ask& ask, Duration length, Instant now) {
  AsksPtr asks = asks_.take(Operation::kSpendEach);
  asks->add(ask);
  Slots fresh;
  asks->holding().reserve(length);
  const auto slot = fresh.emplace(fresh.end(), *this, std::move(asks), now + length);
  auto open = std::make_unique<OpenCall>(*this, slot);
  open_.splice(open_.end(), fresh);
  slot->decide(now);
  if (slot->waits() || !answer(stream, *slot, now)) stream.park(std::move(open));
}

std::optional<Status> HoldSlot::read(std::string_view message, Ask& ask, Duration& length) {
  if (!parse(request_, message)) return kUnreadable;
  const auto wrong = [this](std::string error) {
    error_ = std::move(error);
    return Status{.code = Code::kInvalidArgument, .message = error_};
  };
  if (request_.key().empty() || request_.key().size() > kKeyMax) return kBadKey;
  const RuleSetPtr& rules = asks_.rules();
  ask = {.rule = rules == nullptr ? nullptr : rules->find(request_.rule()), .key = request_.key()};
  if (ask.rule == nullptr) return wrong("no rule '" + request_.rule().substr(0, kKeyMax) + "'");
  const auto read = hold_length(request_.hold(), ask, HoldOf::kSlot, engine_);
  if (!read) return wrong(std::string(read.error().field) + ": must be " + read.error().expected);
  length = *read;
  return std::nullopt;
}

// False: the call stays open.
bool HoldSlot::answer(Http2Stream& stream, Slot& slot, Instant now) {
  if (slot.asks().progress() == Asks::Progress::kUnavailable) {
    refuse(stream, kNoStore);
    return true;
  }
  const Answer& answer = slot.asks().answer(0);
  const Decision& decision = answer.decision;
  const bool is_allowed = answer.allowed();
  response_.Clear();
  response_.set_allowed(is_allowed);
  response_.set_limit(static_cast<std::uint64_t>(decision.limit));
  response_.set_remaining(static_cast<std::uint64_t>(decision.remaining));
  if (is_allowed || decision.retry_after > Duration{0}) {
    set_duration(*response_.mutable_retry_after(), decision.retry_after);
  }
  const bool is_taken = slot.take(now);
  if (is_allowed && !is_taken) {
    refuse(stream, kNoRoom);
    return true;
  }
  begin_reply(stream);
  append_message(stream, response_);
  if (!is_taken || stream.is_complete()) {
    end_reply(stream, {});
    return true;
  }
  stream.keep_open();
  stream.expire_at(slot.until());
  look_at_ = std::min(look_at_, now + kLook);
  ring_by(look_at_);
  return false;
}

void HoldSlot::expired(Http2Stream& stream, Instant now) {
  return stream.is_begun() ? end_reply(stream, kOver) : Method::expired(stream, now);
}

void HoldSlot::closing(Http2Stream& stream) {
  if (stream.is_begun()) end_reply(stream, kClosing);
}

// ---- slots ----

void HoldSlot::leave(Slots::iterator slot) noexcept {
  if (slot->is_over()) {
    open_.erase(slot);
    return;
  }
  left_.splice(left_.end(), open_, slot);
  ring_by(Instant{});
}

void HoldSlot::ring_by(Instant when) {
  ring_at_ = std::min(ring_at_, when);
  if (alarm_ != nullptr) alarm_->set(ring_at_);
}

void HoldSlot::ring(Instant now) {
  ring_at_ = Instant::max();
  for (auto slot = left_.begin(); slot != left_.end();) {  // each slot gives its asks to the next
    bool is_over = false;
    if (!has_memory_for([&] { is_over = slot->release(now); })) ring_by(now + kRetry);
    slot = is_over ? left_.erase(slot) : std::next(slot);
  }
  if (now >= look_at_) {
    for (Slot& slot : open_) {
      if (slot.is_taken() && !slot.goes_on(now)) slot.tell_that_it_ended();
    }
    look_at_ = open_.empty() ? Instant::max() : now + kLook;
  }
  ring_by(look_at_);
}

}  // namespace weir::grpc
