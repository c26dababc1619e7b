// For tests: answers with the request.
//
//   /echo      200, the request in x-saw, its body
//   /trailers  200, its body, a trailer
//   /later     begins at once, repeats each piece that comes, ends with the request
//   /nothing   204
//   /vast      200, a field longer than nghttp2 sends
//
// Thread rule: one thread.

#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "proto/http2/http2_stream.h"

namespace weir {

class EchoService final : public Http2Service, public Http2Router {
 public:
  static constexpr std::size_t kBodyMax = 1 << 20;

  Http2Service& route(const Http2Stream&) override { return *this; }
  std::size_t body_max() const override { return kBodyMax; }

  void opened(Http2Stream& stream, Instant) override {
    if (stream.path() != "/later") return;
    stream.begin(200, {});
    stream.keep_open();
  }

  void arrived(Http2Stream& stream, Instant) override {
    if (stream.path() == "/later") echo(stream);
  }

  void completed(Http2Stream& stream, Instant) override {
    if (stream.path() == "/nothing") return stream.answer(204, {}, {});
    if (stream.path() == "/later") return stream.finish({});
    if (stream.path() == "/vast") return with_vast_field(stream);
    if (stream.path() == "/trailers") return with_trailers(stream);
    std::string saw = std::string(stream.method()) + " " + std::string(stream.path());
    for (const auto& [name, value] : stream.fields()) {
      saw += " " + std::string(name) + "=" + std::string(value);
    }
    const Http2Field field{.name = "x-saw", .value = saw};
    const auto body = stream.body();
    stream.answer(200, {&field, 1}, {body.data(), body.size()});
  }

  void too_long(Http2Stream& stream, Instant) override { stream.answer(413, {}, {}); }

  void closing(Http2Stream& stream) override {
    if (stream.path() != "/later") return;
    std::memcpy(stream.append(3), "bye", 3);
    stream.finish({});
  }

 private:
  static void with_trailers(Http2Stream& stream) {
    static constexpr Http2Field kTrailer{.name = "x-status", .value = "0"};
    stream.begin(200, {});
    echo(stream);
    stream.finish({&kTrailer, 1});
  }

  static void with_vast_field(Http2Stream& stream) {
    const std::string value(70'000, 'x');
    const Http2Field field{.name = "x-vast", .value = value};
    stream.answer(200, {&field, 1}, "body");
  }

  static void echo(Http2Stream& stream) {
    const auto body = stream.body();
    if (body.empty()) return;
    std::memcpy(stream.append(body.size()), body.data(), body.size());
    stream.consume(body.size());
  }
};

}  // namespace weir
