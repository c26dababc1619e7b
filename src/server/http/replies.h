// Replies: the HTTP/1.1 responses of one connection that wait to be written.
//
// Every response says in X-Process-Time how long it took. That is known only when it
// is about to be written, so the field gets a fixed width and is filled in by stamp().
//
// Thread rule: one connection, so one core. Tested by http_session_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/http_date.h"
#include "proto/output_buffer.h"
#include "weir/time.h"

namespace weir {

// For ReplyHead::fields of what is different the next time.
inline constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

// What becomes of the connection after a reply.
enum class AfterReply : std::uint8_t {
  kStay,     // HTTP/1.1 stays open and says nothing
  kSayStay,  // HTTP/1.0 has to be told
  kClose,
};

enum class SendBody : std::uint8_t { kYes, kNo };  // kNo: the answer to HEAD

struct ReplyHead {
  int status = 200;
  std::string_view content_type = "application/json";  // empty: there is no body
  std::string_view fields;                             // further header fields, as whole lines
  AfterReply after = AfterReply::kStay;
  SendBody send_body = SendBody::kYes;
};

// "Not Found". Empty for a status that we never send.
std::string_view reason_phrase(int status);

// Where a reply goes.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void add(const ReplyHead& head, std::string_view body, const HttpDate& date) = 0;
};

class Replies final : public ReplySink {
 public:
  void add(const ReplyHead& head, std::string_view body, const HttpDate& date) override;

  // "100 Continue": go on and send the body.
  void add_continue();

  // Fills in X-Process-Time of the replies added since the last call.
  void stamp(Duration elapsed);

  std::string_view view() const { return out_.view(); }
  std::size_t size() const { return out_.size(); }
  bool empty() const { return out_.empty(); }

  // `size` bytes have been written; what is left unstamped stays "0.000000".
  void consume(std::size_t size);

  // As OutputBuffer's.
  std::size_t position() const { return out_.position(); }
  void cut(std::size_t position);

  // Gives the memory back, if nothing waits.
  void release();
  bool holds_memory() const { return out_.holds_memory(); }

 private:
  OutputBuffer out_;
  std::vector<std::size_t> unstamped_;  // positions in out_
};

}  // namespace weir
