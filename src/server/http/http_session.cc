#include "server/http/http_session.h"

#include "base/assert.h"

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
    : core_(core), peer_(peer.address), idle_since_(now), taken_since_(now) {
  core_.counts().opened();
}

HttpSession::~HttpSession() { core_.counts().closed(); }

std::span<char> HttpSession::input_space() {
  if (finished_ || peer_closed_ || held_back_) return {};
  return in_.space();
}

void HttpSession::received(std::size_t size, Instant now) {
  if (finished_) return;
  in_.received(size);
  answer_requests(now);
}

void HttpSession::peer_closed(Instant now) {
  peer_closed_ = true;
  if (!finished_) answer_requests(now);
}

void HttpSession::sent(std::size_t size, Instant now) {
  out_.sent(size);
  taken_since_ = now;
  if (held_back_ && !finished_) answer_requests(now);
}

void HttpSession::drain() {
  draining_ = true;
  if (in_.empty()) finished_ = true;
}

Instant HttpSession::deadline() const {
  if (!out_.empty()) return taken_since_ + kStalledMax;
  if (request_since_) return *request_since_ + kRequestMax;
  return idle_since_ + (is_warm() ? kWarmMax : kIdleMax);
}

void HttpSession::expired(Instant now) {
  if (now < deadline()) return;
  if (out_.empty() && request_since_ && !finished_) {
    taken_since_ = now;
    refuse(kTooSlow, now);
    return;
  }
  if (out_.empty() && now < idle_since_ + kIdleMax && !finished_) return cool();
  out_.clear();
  finished_ = true;
}

void HttpSession::cool() {
  in_.release();
  out_.release();
}

void HttpSession::answer_requests(Instant now) {
  const bool was_empty = out_.empty();
  held_back_ = false;
  while (!finished_) {
    held_back_ = out_.size() >= kOutputMax;
    if (held_back_ || !answer_one(now)) break;
  }
  core_.flush(out_, now);

  if (was_empty) taken_since_ = now;
  const bool nothing_to_come = peer_closed_ || (draining_ && in_.empty());
  if (nothing_to_come && !held_back_) finished_ = true;
  if (in_.empty() || held_back_) {
    request_since_.reset();
  } else if (!request_since_) {
    request_since_ = now;
  }
}

// Between requests; RFC 9112, 2.2 asks for it. They count neither as a request nor as a
// sign of life.
void HttpSession::skip_empty_lines() {
  while (!pending_ && in_.text().starts_with("\r\n")) in_.consume(2);
}

bool HttpSession::answer_one(Instant now) {
  skip_empty_lines();
  const std::string_view arrived = in_.text();
  if (arrived.empty() || arrived == "\r") return false;  // perhaps an empty line
  if (pending_ && arrived.size() < pending_->size) return false;

  RequestHead head;
  Refusal refusal;
  switch (http1::parse_head(arrived, head, refusal)) {
    case HeadStatus::kNeedMore: return false;
    case HeadStatus::kRefused: return refuse(refusal, now);
    case HeadStatus::kComplete: break;
  }
  if (head.chunked) return take_chunks(head, now);
  if (head.content_length > kBodyMax) return refuse(kBodyTooLong, now);
  const auto body_size = static_cast<std::size_t>(head.content_length);
  const std::size_t size = head.size + body_size;
  if (arrived.size() >= size) return answer(head, body_size, size, now);

  pending_ = PendingRequest{.size = size};
  invite_body(head, now);
  return false;
}

bool HttpSession::take_chunks(const RequestHead& head, Instant now) {
  if (!pending_) {
    pending_ = PendingRequest{.decoder = ChunkDecoder(kBodyMax)};
    invite_body(head, now);
  }
  const std::size_t decoded_before = head.size + pending_->decoded;
  const auto step = pending_->decoder.decode(in_.data().subspan(decoded_before));
  pending_->decoded += step.produced;
  switch (step.status) {
    case ChunkDecoder::Status::kNeedMore:
      in_.truncate(decoded_before + step.produced);
      return false;
    case ChunkDecoder::Status::kMalformed: return refuse(kMalformedChunks, now);
    case ChunkDecoder::Status::kTooLong: return refuse(kBodyTooLong, now);
    case ChunkDecoder::Status::kComplete: break;
  }
  return answer(head, pending_->decoded, decoded_before + step.consumed, now);
}

// The peer may be waiting to hear that its body is wanted.
void HttpSession::invite_body(const RequestHead& head, Instant now) {
  const bool has_begun = in_.text().size() > head.size;
  if (!head.expects_continue || head.http_1_0 || has_begun) return;
  core_.flush(out_, now);
  out_.add_continue();
}

bool HttpSession::answer(const RequestHead& head, std::size_t body_size, std::size_t size,
                         Instant now) {
  const bool is_last = !head.keep_alive || (draining_ && in_.text().size() == size);
  const AfterReply stay = head.http_1_0 ? AfterReply::kSayStay : AfterReply::kStay;
  Exchange exchange{.head = head,
                    .body = {.text = in_.data().data() + head.size,
                             .size = body_size,
                             .readable = body_size + InputBuffer::kPadding},
                    .now = now,
                    .out = out_,
                    .after = is_last ? AfterReply::kClose : stay,
                    .peer = peer_};
  core_.answer(exchange);
  in_.consume(size);  // a queued check still refers to it; it stays where it is
  pending_.reset();
  request_since_.reset();
  idle_since_ = now;
  finished_ = is_last;
  return !is_last;
}

bool HttpSession::refuse(const Refusal& refusal, Instant now) {
  const RequestHead unknown;
  const Exchange exchange{
      .head = unknown, .body = {}, .now = now, .out = out_, .after = AfterReply::kClose};
  core_.reply_problem(exchange, http_problem(refusal.status, refusal.detail));
  finished_ = true;
  return false;
}

}  // namespace weir
