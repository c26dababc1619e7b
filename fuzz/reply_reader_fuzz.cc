// Feeds bytes to the reader of a Redis's replies, in one piece and in random ones. It says
// the same of both, and what it says is within its bounds and within the bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "proto/resp/reply_reader.h"

namespace weir::resp {
namespace {

void describe(const Reply& reply, std::string& said, std::size_t depth) {
  WEIR_ASSERT(depth <= ReplyReader::kDepthMax);
  said += static_cast<char>('A' + static_cast<int>(reply.type()));
  said += std::to_string(reply.integer().value_or(0));
  said += reply.text();
  std::size_t elements = 0;
  for (const Reply element : reply) {
    describe(element, said, depth + 1);
    ++elements;
  }
  WEIR_ASSERT(elements == reply.size());
}

std::string hear(std::string_view bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t longest = std::size_t{1} << (random() % 12);
  ReplyReader reader;
  std::string said;
  std::size_t begin = 0;
  for (std::size_t end = 0; end < bytes.size();) {
    end = seed == 0 ? bytes.size() : std::min(bytes.size(), end + 1 + random() % longest);
    while (true) {
      const auto at = [&](std::size_t i) { return bytes.begin() + static_cast<std::ptrdiff_t>(i); };
      const auto arrived = std::vector<char>(at(begin), at(end));
      const auto status = reader.read({arrived.data(), arrived.size()});
      if (status == ReplyReader::Status::kBroken) return said + "broken";
      if (status == ReplyReader::Status::kNeedMore) break;
      WEIR_ASSERT(reader.size() > 0 && reader.size() <= arrived.size());
      describe(reader.reply(), said, 0);
      begin += reader.size();
    }
  }
  return said;
}

}  // namespace
}  // namespace weir::resp

// The first two bytes say how the rest is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t seed = data[0] + 256u * data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  WEIR_ASSERT(weir::resp::hear(bytes, seed) == weir::resp::hear(bytes, 0));
  return 0;
}
