// gRPC for the load generator: prebuilt calls of ShouldRateLimit, and just enough HTTP/2.
//
// - All calls have the same header fields. The first call sends them as texts, which go into
//   the server's table; each later call is six numbers of entries there.
// - The codec finds replies by the headers of frames. It announces a table of fields of size
//   0, so that it need not keep one, and reads only the message of a reply. A reply without
//   a message is an error.
// - It opens windows as wide as possible, and again long before they are used up. The calls
//   in flight fit a server's first window (kCallsMax).
//
// Thread rule: one owner. Tested by grpc_codec_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/codec.h"
#include "load/request_batch.h"

namespace weir::load {

struct CallSpec {
  std::string authority;
  std::string domain;
  // Key and value of each; a value may contain kKeyWord, but one only.
  std::vector<std::pair<std::string, std::string>> entries;
};

// A call's bytes on the wire, once fields are known.
struct Call {
  std::string first_head;  // the HEADERS frame of a connection's first call
  Request request;         // HEADERS and DATA
  std::size_t data_at = 0;
};

Call make_call(const CallSpec& spec);

class GrpcCodec final : public Codec {
 public:
  // On one connection at once: a quarter of the smallest window, for calls of 64 bytes.
  static constexpr std::size_t kCallsMax = 256;

  // `call` must outlive the codec. REQUIRES: depth <= kCallsMax
  GrpcCodec(const Call& call, std::size_t depth);

  std::string_view requests(std::span<const std::uint32_t> keys) override;
  std::optional<std::size_t> replies(std::string_view bytes, Tally& tally) override;

 private:
  struct Frame;
  using Answer = std::pair<std::uint32_t, bool>;  // the stream, and whether it is allowed

  void take(const Frame& frame, Tally& tally);
  void take_data(const Frame& frame);
  void count(std::uint32_t stream, Tally& tally);

  const Call& call_;
  RequestBatch batch_;
  std::string out_;
  std::string control_;  // frames to be sent before the next calls
  std::uint32_t next_stream_ = 1;
  std::uint64_t taken_ = 0;  // bytes of DATA since the window was opened
  // From a call's message until its end; few calls are between these two at any time.
  std::vector<Answer> answers_;
};

}  // namespace weir::load
