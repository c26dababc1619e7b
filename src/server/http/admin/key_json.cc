#include "server/http/admin/key_json.h"

#include <array>
#include <charconv>

#include "server/http/query.h"

namespace weir {

std::string hash_text(std::uint64_t hash) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  return std::string(digits.size() - size, '0').append(digits.data(), size);
}

void write_key_begin(JsonWriter& json, const KeyEstimate& key) {
  json.begin_object().key("hash").string(hash_text(key.hash));
  if (!key.text.empty()) json.key("key").string(as_utf8(key.text));
  json.key("count").number(key.low);
}

}  // namespace weir
