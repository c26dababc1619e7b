// The handshake of WebSocket: whether an HTTP/1.1 request asks for it, and the answer (RFC 6455,
// 4.2).
//
// Extensions and subprotocols that a client offers are declined: the answer does not mention them.
//
// Thread rule: pure. Tested by handshake_test.cc.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/name_value.h"
#include "proto/http/http1_head.h"
#include "weir/result.h"

namespace weir::websocket {

// The value of Sec-WebSocket-Accept, or a refusal with status 400 or 426. A reply with 426 has
// `Upgrade: websocket` and `Sec-WebSocket-Version: 13`.
using Handshake = Result<std::string, http1::Refusal>;

// `fields`: those of `head`.
Handshake shake_hands(const http1::RequestHead& head, std::span<const NameValue> fields);

}  // namespace weir::websocket
