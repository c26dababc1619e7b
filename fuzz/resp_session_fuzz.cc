// Feeds bytes to a Redis client's session, in one piece and in random ones. Both sessions say the
// same, in well-formed values, one a command at most. Neither keeps more waiting than it may.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "server/resp/resp_session.h"
#include "server/resp/resp_test_door.h"

namespace weir {
namespace {

// One reply on top of what may wait: COMMAND DOCS about 64 names.
constexpr std::size_t kOutputMax = RespSession::kLimits.output_max + (256u << 10);
constexpr int kDepthMax = 8;

std::string_view take_line(std::string_view& output) {
  const auto end = output.find("\r\n");
  WEIR_ASSERT(end != std::string_view::npos);
  const std::string_view line = output.substr(0, end);
  output.remove_prefix(end + 2);
  WEIR_ASSERT(!line.empty() && line.find_first_of("\r\n") == std::string_view::npos);
  return line;
}

std::int64_t number_of(std::string_view line) {
  std::int64_t number = 0;
  const auto end = std::from_chars(line.data() + 1, line.data() + line.size(), number);
  WEIR_ASSERT(end.ec == std::errc() && end.ptr == line.data() + line.size());
  return number;
}

void take_value(std::string_view& output, int depth) {
  WEIR_ASSERT(depth < kDepthMax);
  const std::string_view line = take_line(output);
  if (std::string_view("+-_").find(line[0]) != std::string_view::npos) return;
  const std::int64_t number = number_of(line);
  if (line[0] == ':' || (line[0] == '$' && number == -1)) return;
  WEIR_ASSERT(number >= 0);
  const auto size = static_cast<std::size_t>(number);
  if (line[0] == '$' || line[0] == '=') {
    WEIR_ASSERT(output.size() >= size + 2 && output.substr(size, 2) == "\r\n");
    output.remove_prefix(size + 2);
    return;
  }
  WEIR_ASSERT(line[0] == '*' || line[0] == '~' || line[0] == '%');
  for (std::size_t i = 0; i < (line[0] == '%' ? 2 * size : size); ++i) {
    take_value(output, depth + 1);
  }
}

void check_replies(std::string_view output) {
  while (!output.empty()) take_value(output, 0);
}

RespTestDoor::Options options(std::uint32_t seed) {
  const auto quota = Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  RespAccess access{.admin_token = "t"};
  if (seed % 4 == 3) access.password = "p";
  return {.rules = {{.id = "r", .quota = *quota}, {.id = "off", .quota = *quota, .enabled = false}},
          .access = std::move(access)};
}

std::string hear(std::string_view bytes, std::uint32_t seed) {
  RespTestDoor door(options(seed));
  door.store.broken = seed % 16 == 15;
  for (const char* const key : {"b", "192.0.2.0/24"}) {  // then decisions read all keys
    const Instant until = door.now + std::chrono::hours(1);
    WEIR_ASSERT(
        door.blocks.add({.key = key, .until = until, .reason = BlockReason::kManual}, door.now));
  }
  RespTestClient client(door);
  std::mt19937 random(seed);
  const std::size_t longest = std::size_t{1} << (random() % 12);
  std::string heard;
  while (!bytes.empty() && !client.finished()) {
    const std::size_t size = seed < 16 ? bytes.size() : 1 + random() % longest;
    const std::size_t fed = client.feed(bytes.substr(0, size));
    WEIR_ASSERT(fed > 0);  // all output has been taken
    bytes.remove_prefix(fed);
    WEIR_ASSERT(client.session().output().size() <= kOutputMax);
    heard += client.drink() + client.wait();
  }
  WEIR_ASSERT(!client.finished() || client.session().input_space().empty());
  for (int i = 0; i < 2 && !client.finished(); ++i) {  // the first may only cool it
    client.session().expired(client.session().deadline());
    heard += client.drink();
  }
  WEIR_ASSERT(client.finished());
  return heard;
}

}  // namespace
}  // namespace weir

// The first two bytes say how the rest is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t seed = data[0] + 256u * data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string whole = weir::hear(bytes, seed % 16);
  weir::check_replies(whole);
  WEIR_ASSERT(weir::hear(bytes, seed) == whole);
  return 0;
}
