#include "server/http/replies.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "proto/http/rate_limit_headers.h"
#include "proto/http/status.h"
#include "proto/text_writer.h"

namespace weir {
namespace {

// Bytes of a head at most, without content type and further fields: the longest status
// line, 45 for Date, 38 for Content-Length, 26 for X-Process-Time, 24 for Connection.
constexpr std::size_t kHeadMax = 256;

constexpr std::size_t kProcessTimeSize = 8;  // 0.000000
constexpr Duration kProcessTimeMax = std::chrono::microseconds(9'999'999);

// Eight characters of seconds.
std::array<char, kProcessTimeSize> process_time(Duration elapsed) {
  const auto us = std::clamp(elapsed, Duration::zero(), kProcessTimeMax).count();
  std::array<char, kProcessTimeSize> text;
  write_eight_digits(text.data(), static_cast<std::uint64_t>(us));  // the first is 0
  text[0] = std::exchange(text[1], '.');
  return text;
}

}  // namespace

void Replies::add(const Reply& reply, const ReplyTerms& terms) {
  const StatusLine* const status = find_status(reply.status);
  const bool is_constant = reply.lifetime == Reply::Lifetime::kProgram;
  std::size_t size_max = kHeadMax + reply.content_type.size();
  if (!is_constant) size_max += reply.body.size();
  if (reply.limit != nullptr) size_max += rate_limit_headers_max(*reply.limit);
  for (const NameValue& field : reply.fields)
    size_max += field.name.size() + field.value.size() + 4;
  char* const start = out_.reserve(size_max);
  TextWriter writer(start, size_max);
  if (status != nullptr) {
    writer.text(status->line);
  } else {  // as a rule says: a reason may be empty, the space before it not
    writer.put("HTTP/1.1 ").number(reply.status).put(" ");
  }
  writer.put("\r\nDate: ").text({terms.date.data(), terms.date.size()});
  if (!reply.content_type.empty()) writer.put("\r\nContent-Type: ").text(reply.content_type);
  if (!has_no_body(reply.status)) writer.put("\r\nContent-Length: ").number(reply.body.size());
  writer.put("\r\nX-Process-Time: ");
  const auto stamp_at = static_cast<std::size_t>(writer.end() - start);
  unstamped_.push_back({.position = out_.position() + stamp_at, .waited = turn_.waited});
  writer.put("0.000000\r\n");
  if (terms.after == AfterReply::kClose) writer.put("Connection: close\r\n");
  if (terms.after == AfterReply::kSayStay) writer.put("Connection: keep-alive\r\n");
  if (reply.limit != nullptr) write_rate_limit_headers(writer, *reply.limit);
  for (const NameValue& field : reply.fields) {
    writer.text(field.name).put(": ").text(field.value).put("\r\n");
  }
  writer.put("\r\n");
  const bool has_body = terms.send_body == SendBody::kYes;
  if (has_body && !is_constant) writer.text(reply.body);
  out_.commit(writer.end());
  if (has_body && is_constant) out_.append_constant(reply.body);
}

void Replies::append(const Replies& waiting) {
  const std::size_t first = waiting.out_.begin_position();
  for (const Unstamped& unstamped : waiting.unstamped_) {
    unstamped_.push_back({.position = out_.position() + unstamped.position - first,
                          .waited = unstamped.waited + turn_.waited});
  }
  out_.append(waiting.out_);
}

void Replies::add_continue() { out_.append("HTTP/1.1 100 Continue\r\n\r\n"); }

void Replies::stamp(Duration elapsed) {
  Duration waited{0};
  auto text = process_time(elapsed);
  for (const Unstamped& unstamped : unstamped_) {
    if (unstamped.waited != waited) text = process_time(elapsed + (waited = unstamped.waited));
    std::memcpy(out_.at(unstamped.position), text.data(), text.size());
  }
  unstamped_.clear();
}

void Replies::consume(std::size_t size) {
  out_.consume(size);
  // None is left if the loop stamps before it writes.
  const std::size_t first = out_.begin_position();
  std::erase_if(unstamped_, [&](const Unstamped& unstamped) { return unstamped.position < first; });
}

void Replies::release() {
  out_.release();
  if (unstamped_.empty()) unstamped_.shrink_to_fit();
}

}  // namespace weir
