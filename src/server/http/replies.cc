#include "server/http/replies.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "proto/text_writer.h"

namespace weir {
namespace {

struct Status {
  int code;
  std::string_view line;  // without the line end
};

constexpr std::string_view kVersion = "HTTP/1.1 ";
constexpr std::array kStatuses = {
    Status{200, "HTTP/1.1 200 OK"},
    Status{201, "HTTP/1.1 201 Created"},
    Status{204, "HTTP/1.1 204 No Content"},
    Status{400, "HTTP/1.1 400 Bad Request"},
    Status{401, "HTTP/1.1 401 Unauthorized"},
    Status{403, "HTTP/1.1 403 Forbidden"},
    Status{404, "HTTP/1.1 404 Not Found"},
    Status{405, "HTTP/1.1 405 Method Not Allowed"},
    Status{408, "HTTP/1.1 408 Request Timeout"},
    Status{409, "HTTP/1.1 409 Conflict"},
    Status{412, "HTTP/1.1 412 Precondition Failed"},
    Status{413, "HTTP/1.1 413 Content Too Large"},
    Status{414, "HTTP/1.1 414 URI Too Long"},
    Status{417, "HTTP/1.1 417 Expectation Failed"},
    Status{429, "HTTP/1.1 429 Too Many Requests"},
    Status{431, "HTTP/1.1 431 Request Header Fields Too Large"},
    Status{500, "HTTP/1.1 500 Internal Server Error"},
    Status{501, "HTTP/1.1 501 Not Implemented"},
    Status{503, "HTTP/1.1 503 Service Unavailable"},
    Status{505, "HTTP/1.1 505 HTTP Version Not Supported"},
};

const Status* find_status(int code) {
  const auto* const found = std::find_if(kStatuses.begin(), kStatuses.end(),
                                         [&](const Status& status) { return status.code == code; });
  return found == kStatuses.end() ? nullptr : found;
}

// Bytes of a head at most, without content type and further fields: the longest status
// line, 45 for Date, 38 for Content-Length, 26 for X-Process-Time, 24 for Connection.
constexpr std::size_t kHeadMax = 256;

constexpr int kNoContent = 204;  // says by itself that there is no body

constexpr std::size_t kProcessTimeSize = 8;  // 0.000000
constexpr Duration kProcessTimeMax = std::chrono::microseconds(9'999'999);

// Eight characters of seconds.
std::array<char, kProcessTimeSize> process_time(Duration elapsed) {
  auto us = std::clamp(elapsed, Duration::zero(), kProcessTimeMax).count();
  std::array<char, kProcessTimeSize> text;
  for (std::size_t i = kProcessTimeSize - 1; i > 1; --i, us /= 10) {
    text[i] = static_cast<char>('0' + us % 10);
  }
  text[1] = '.';
  text[0] = static_cast<char>('0' + us);
  return text;
}

}  // namespace

std::string_view reason_phrase(int status) {
  const Status* const found = find_status(status);
  return found == nullptr ? std::string_view() : found->line.substr(kVersion.size() + 4);
}

void Replies::add(const ReplyHead& head, std::string_view body, const HttpDate& date) {
  const Status* const status = find_status(head.status);
  char* const start =
      out_.reserve(kHeadMax + head.content_type.size() + head.fields.size() + body.size());
  TextWriter writer(start);
  if (status != nullptr) {
    writer.text(status->line);
  } else {  // a rule's choice: a reason may be empty, the space before it not
    writer.put("HTTP/1.1 ").number(head.status).put(" ");
  }
  writer.put("\r\nDate: ").text({date.data(), date.size()});
  if (!head.content_type.empty()) writer.put("\r\nContent-Type: ").text(head.content_type);
  if (head.status != kNoContent) writer.put("\r\nContent-Length: ").number(body.size());
  writer.put("\r\nX-Process-Time: ");
  unstamped_.push_back(out_.position() + static_cast<std::size_t>(writer.end() - start));
  writer.put("0.000000\r\n");
  if (head.after == AfterReply::kClose) writer.put("Connection: close\r\n");
  if (head.after == AfterReply::kSayStay) writer.put("Connection: keep-alive\r\n");
  writer.text(head.fields).put("\r\n");
  if (head.send_body == SendBody::kYes) writer.text(body);
  out_.commit(writer.end());
}

void Replies::add_continue() { out_.append("HTTP/1.1 100 Continue\r\n\r\n"); }

void Replies::stamp(Duration elapsed) {
  if (unstamped_.empty()) return;
  const auto text = process_time(elapsed);
  for (const std::size_t position : unstamped_) {
    std::memcpy(out_.at(position), text.data(), text.size());
  }
  unstamped_.clear();
}

void Replies::consume(std::size_t size) {
  out_.consume(size);
  // None is left when the loop stamps before it writes.
  const std::size_t first = out_.position() - out_.size();
  std::erase_if(unstamped_, [&](std::size_t position) { return position < first; });
}

void Replies::cut(std::size_t position) {
  out_.cut(position);
  while (!unstamped_.empty() && unstamped_.back() >= position) unstamped_.pop_back();
}

void Replies::release() {
  out_.release();
  if (unstamped_.empty()) unstamped_.shrink_to_fit();
}

}  // namespace weir
