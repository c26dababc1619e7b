// Exchange: one HTTP request on its way to its answer.
//
// Thread rule: one core. Tested by http_session_test.cc and http2_api_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "proto/http/http1_head.h"
#include "proto/session.h"
#include "server/http/reply.h"
#include "weir/time.h"

namespace weir {

// A reader may read InputBuffer::kPadding bytes behind the text, and change the first of them for a
// while.
struct RequestBody {
  char* text = nullptr;
  std::size_t size = 0;
  std::size_t readable = 0;  // bytes, the text included

  std::string_view view() const { return {text, size}; }
};

// All texts are in the input buffer.
struct Exchange : Recipient {
  Exchange(ReplyLine& to, AfterReply then, Instant arrived, const http1::RequestHead& of,
           const RequestBody& sent)
      : Recipient{.out = &to, .now = arrived, .after = then}, line(to), head(of), body(sent) {}

  bool only_reads() const { return http1::only_reads(head.method); }
  // The value of a header field; empty if there is none.
  std::string_view field(std::string_view name) const {
    return find_header(headers, name).value_or(std::string_view());
  }

  ReplyLine& line;
  const http1::RequestHead& head;
  RequestBody body;
  std::optional<IpAddress> peer{};
  std::span<const NameValue> headers{};  // all of them, until the next request of the core
  // Set by a handler whose reply is the last of HTTP: the session that takes over the connection.
  std::unique_ptr<Session> successor{};

  // Set by routing.
  std::string_view path{};
  std::string_view query{};  // without the '?'
  std::string_view id{};     // the text in place of a route's "{id}"
};

}  // namespace weir
