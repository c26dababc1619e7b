// The Redis protocol for the load generator: prebuilt commands.
//
// Commands of Weir and of Redis itself, so that one client loads both. The first integer of a reply
// says whether the request is allowed.
//
// Thread rule: one owner. Tested by resp_codec_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "load/codec.h"
#include "load/request_batch.h"
#include "proto/resp/reply_reader.h"

namespace weir::load {

// The words as an array of bulk strings, the key at most once. REQUIRES: not empty
Request make_command(std::span<const std::string> words);

class RespCodec final : public Codec {
 public:
  RespCodec(const Request& request, std::size_t depth) : batch_(request, depth) {}

  std::string_view requests(std::span<const std::uint32_t> keys) override {
    return batch_.with(keys);
  }
  std::optional<std::size_t> replies(std::string_view bytes, Tally& tally) override;

 private:
  RequestBatch batch_;
  resp::ReplyReader reader_;
};

}  // namespace weir::load
