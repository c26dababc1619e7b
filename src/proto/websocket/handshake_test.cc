#include "proto/websocket/handshake.h"

#include <vector>

#include <gtest/gtest.h>

namespace weir::websocket {
namespace {

constexpr std::string_view kKey = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
constexpr std::string_view kVersion = "Sec-WebSocket-Version: 13\r\n";
constexpr std::string_view kUpgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";

Handshake shake(const std::string& fields, const std::string& line = "GET / HTTP/1.1") {
  const std::string request = line + "\r\nHost: localhost\r\n" + fields + "\r\n";
  http1::RequestHead head;
  http1::Refusal refusal;
  std::vector<NameValue> all;
  EXPECT_EQ(http1::parse_head(request, head, all, refusal), http1::HeadStatus::kComplete)
      << request;
  return shake_hands(head, all);
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

int status(const Handshake& handshake) { return handshake ? 101 : handshake.error().status; }

// RFC 6455, 1.3.
TEST(WebSocketHandshake, AnswersTheKey) {
  const Handshake done = shake(join({kUpgrade, kVersion, kKey}));
  ASSERT_EQ(status(done), 101);
  EXPECT_EQ(*done, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, IsReadAsListsAndInAnyCase) {
  for (const std::string_view asks :
       {"upgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\n",
        "Upgrade: h2c, websocket\r\nConnection: Upgrade\r\n",
        "Upgrade: websocket\r\nConnection: keep-alive\r\nConnection: upgrade\r\n"}) {
    EXPECT_EQ(status(shake(join({asks, kVersion, kKey}))), 101) << asks;
  }
}

TEST(WebSocketHandshake, RefusesWhatIsNone) {
  struct Case {
    std::string fields;
    int status;
  };
  for (const Case& c : {
           Case{"", 426},
           Case{join({kVersion, kKey}), 426},
           Case{join({"Upgrade: websocket\r\n", kVersion, kKey}), 426},
           Case{join({"Connection: Upgrade\r\n", kVersion, kKey}), 426},
           Case{join({"Upgrade: websockets\r\nConnection: Upgrade\r\n", kVersion, kKey}), 426},
           Case{join({kUpgrade, kKey}), 426},
           Case{join({kUpgrade, kKey, "Sec-WebSocket-Version: 8\r\n"}), 426},
           Case{join({kUpgrade, kKey, "Sec-WebSocket-Version: 13, 8\r\n"}), 426},
           Case{join({kUpgrade, kKey, kVersion, kVersion}), 426},
           Case{join({kUpgrade, kVersion}), 400},
           Case{join({kUpgrade, kVersion, kKey, kKey}), 400},
           Case{join({kUpgrade, kVersion, "Sec-WebSocket-Key: \r\n"}), 400},
           Case{join({kUpgrade, kVersion, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n"}), 400},
           Case{join({kUpgrade, kVersion, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n"}), 400},
           Case{join({kUpgrade, kVersion, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ*==\r\n"}), 400},
           Case{join({kUpgrade, kVersion, kKey, "Content-Length: 1\r\n"}), 400},
           Case{join({kUpgrade, kVersion, kKey, "Transfer-Encoding: chunked\r\n"}), 400},
       }) {
    EXPECT_EQ(status(shake(c.fields)), c.status) << c.fields;
  }
  EXPECT_EQ(status(shake(join({kUpgrade, kVersion, kKey}), "GET / HTTP/1.0")), 426);
  EXPECT_EQ(status(shake(join({kUpgrade, kVersion, kKey}), "HEAD / HTTP/1.1")), 426);
}

}  // namespace
}  // namespace weir::websocket
