#include "server/http/http_session.h"

#include <utility>

namespace weir {
namespace {

using http1::ChunkDecoder;
using http1::HeadStatus;
using http1::Refusal;
using http1::RequestHead;

constexpr Refusal kBodyTooLong{413, "The body is longer than 1 MiB."};
constexpr Refusal kMalformedChunks{400, "The chunked transfer coding of the body is malformed."};
constexpr Refusal kTooSlow{408, "The request did not arrive within 10 seconds."};

}  // namespace

HttpSession::HttpSession(HttpCore& core, const Peer& peer, Instant now)
    : PipelinedSession(kLimits, now), core_(core), peer_(peer.address) {
  core_.counts().add_one(kHttpOpened);
}

HttpSession::~HttpSession() {
  core_.forget_queued();
  core_.counts().add_one(kHttpClosed);
}

// The time includes the waiting.
void HttpSession::stamp(Duration elapsed) {
  out().stamp(elapsed);
  core_.stamp(elapsed + std::exchange(waited_, Duration::zero()));
}

void HttpSession::writing(const Turn& turn) {
  waited_ = std::max(waited_, turn.waited);
  out().begin_turn({.waited = turn.waited, .closes = turn.then == Turn::Then::kClose});
}

void HttpSession::add(const Reply& reply, const ReplyTerms& terms) {
  end_of_line().add(reply, terms);
}

void HttpSession::park(std::unique_ptr<LateReply<ReplySink>> late, Instant now) {
  PipelinedSession::park(std::move(late), now);
}

// Between requests, as RFC 9112, 2.2 asks. Empty lines count neither as a request nor as a sign of
// life.
void HttpSession::skip_empty_lines() {
  while (!pending_ && in().text().starts_with("\r\n")) in().consume(2);
}

HttpSession::Step HttpSession::handle_one(Instant now) {
  skip_empty_lines();
  const std::string_view arrived = in().text();
  if (arrived.empty() || arrived == "\r") return Step::kNeedMore;  // perhaps an empty line
  if (pending_ && arrived.size() < pending_->size) return Step::kNeedMore;

  Refusal refusal;
  switch (core_.heads().read(arrived, refusal)) {
    case HeadStatus::kNeedMore: return Step::kNeedMore;
    case HeadStatus::kRefused: return refuse(refusal, now);
    case HeadStatus::kComplete: break;
  }
  const RequestHead& head = core_.heads().head();
  if (head.chunked) return take_chunks(head, now);
  if (head.content_length > kBodyMax) return refuse(kBodyTooLong, now);
  const auto body_size = static_cast<std::size_t>(head.content_length);
  const std::size_t size = head.size + body_size;
  if (arrived.size() >= size) return answer(head, body_size, size, now);

  pending_ = PendingRequest{.size = size};
  invite_body(head, now);
  return Step::kNeedMore;
}

// A body is decoded where it arrived, once.
HttpSession::Step HttpSession::take_chunks(const RequestHead& head, Instant now) {
  if (!pending_) {
    const bool may_overtake = core_.may_overtake(head);
    if (!may_overtake) flush(now);
    if (!may_overtake && waits()) return Step::kNeedMore;
    pending_ = PendingRequest{.decoder = ChunkDecoder(kBodyMax)};
    invite_body(head, now);
  }
  const std::size_t decoded_before = head.size + pending_->decoded;
  const auto step = pending_->decoder.decode(in().data().subspan(decoded_before));
  pending_->decoded += step.produced;
  switch (step.status) {
    case ChunkDecoder::Status::kNeedMore:
      in().truncate(decoded_before + step.produced);
      return Step::kNeedMore;
    case ChunkDecoder::Status::kMalformed: return refuse(kMalformedChunks, now);
    case ChunkDecoder::Status::kTooLong: return refuse(kBodyTooLong, now);
    case ChunkDecoder::Status::kComplete: break;
  }
  return answer(head, pending_->decoded, decoded_before + step.consumed, now);
}

// The peer may be waiting for word that its body is wanted.
void HttpSession::invite_body(const RequestHead& head, Instant now) {
  const bool has_begun = in().text().size() > head.size;
  if (!head.expects_continue || head.http_1_0 || has_begun) return;
  flush(now);
  end_of_line().add_continue();
}

HttpSession::Step HttpSession::answer(const RequestHead& head, std::size_t body_size,
                                      std::size_t size, Instant now) {
  const bool is_last = !head.keep_alive || is_last_and_draining(size);
  const AfterReply stay = head.http_1_0 ? AfterReply::kSayStay : AfterReply::kStay;
  Exchange exchange(*this, is_last ? AfterReply::kClose : stay, now, head,
                    {.text = in().data().data() + head.size,
                     .size = body_size,
                     .readable = body_size + InputBuffer::kPadding});
  exchange.peer = peer_;
  exchange.headers = core_.heads().fields();
  if (!core_.answer(exchange)) return Step::kNeedMore;
  take(size, now);  // a queued check still refers to it, so it stays in place
  pending_.reset();
  successor_ = std::move(exchange.successor);
  if (successor_ != nullptr) return Step::kLast;
  return exchange.after == AfterReply::kClose ? Step::kLast : Step::kGoOn;
}

std::unique_ptr<Session> HttpSession::successor(Instant now) {
  const std::string_view behind(in().data().data(), in().size());
  if (successor_ != nullptr) feed(*successor_, behind, now);
  return std::move(successor_);
}

HttpSession::Step HttpSession::refuse(const Refusal& refusal, Instant now) {
  const RequestHead unknown;
  const Exchange exchange(*this, AfterReply::kClose, now, unknown, {});
  core_.reply_problem(exchange, http_problem(refusal.status, refusal.detail));
  return Step::kLast;
}

void HttpSession::refuse_slow(Instant now) { refuse(kTooSlow, now); }

}  // namespace weir
