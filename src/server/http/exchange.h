// Exchange: one HTTP request on its way to its answer.
//
// Thread rule: one core. Tested by http_session_test.cc and http2_api_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "proto/http/http1_head.h"
#include "proto/session.h"
#include "server/http/reply.h"
#include "weir/time.h"

namespace weir {

// At least InputBuffer::kPadding bytes behind the text may be read; its reader may change the first
// of them for a while.
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

  ReplyLine& line;
  const http1::RequestHead& head;
  RequestBody body;
  std::optional<IpAddress> peer{};
  std::span<const NameValue> headers{};  // if the protocol has them apart from `head`
  // Set by a handler whose reply is the last of HTTP: who goes on with the connection.
  std::unique_ptr<Session> successor{};

  // Set by routing.
  std::string_view path{};
  std::string_view query{};  // without the '?'
  std::string_view id{};     // what stands in place of a route's "{id}"
};

// All header fields of the request; in `room`, if they have to be taken apart.
std::span<const NameValue> headers_of(const Exchange& exchange, std::vector<NameValue>& room);

// The value of one; empty if there is none.
std::string_view field_of(const Exchange& exchange, std::string_view name);

}  // namespace weir
