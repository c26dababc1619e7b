// HTTP/1.1 for the load generator: prebuilt requests, and just enough of a reader.
//
// A client that saturates a server from one core has some 600 ns for each request, of which the
// kernel takes most. So:
//
// - A request is built once, and only its key changes (request_batch.h).
// - A reply is found by its status, its Content-Length and the empty line; its answer
//   by the text "allowed": in the body. About 60 ns, no allocation.
//
// Not a general client: a reply needs a Content-Length (or a status without a body).
//
// Thread rule: frame_http_reply is pure; an HttpCodec has one owner.
// Tested by http_codec_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "load/codec.h"
#include "load/request_batch.h"

namespace weir::load {

// Where requests go: the Host header, and a path.
struct Destination {
  std::string_view authority;
  std::string_view path;
};
// {key} in the path or in the JSON becomes a new key each time.
Request make_get(const Destination& to);
Request make_post(const Destination& to, std::string_view json);

enum class Framing : std::uint8_t { kComplete, kPartial, kBroken };

struct HttpReply {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;  // of the whole reply, head included
};

// Finds the reply at the front of `bytes`. Fills `reply` if it is kComplete.
Framing frame_http_reply(std::string_view bytes, HttpReply& reply) noexcept;

class HttpCodec final : public Codec {
 public:
  HttpCodec(const Request& request, std::size_t depth) : batch_(request, depth) {}

  std::string_view requests(std::span<const std::uint32_t> keys) override {
    return batch_.with(keys);
  }
  std::optional<std::size_t> replies(std::string_view bytes, Tally& tally) override;

 private:
  RequestBatch batch_;
};

}  // namespace weir::load
