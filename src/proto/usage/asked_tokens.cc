#include "proto/usage/asked_tokens.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "proto/usage/json_numbers.h"

namespace weir {
namespace {

constexpr std::string_view kMostTokens[] = {"max_tokens", "max_completion_tokens",
                                            "max_output_tokens", "maxOutputTokens"};
constexpr std::string_view kGroups[] = {"generationConfig.", "generation_config."};

// The rest of `path` behind `name`. As Go's reader folds letters, U+017F is an s and U+212A a k.
// JsonNumbers::kOther may be any letter.
std::optional<std::string_view> behind(std::string_view path, std::string_view name) {
  constexpr std::string_view kLongS = "\u017f";
  constexpr std::string_view kKelvin = "\u212a";
  for (const char c : name) {
    const char letter = ascii_lower(c);
    if (path.empty()) return std::nullopt;
    if (ascii_lower(path.front()) == letter || path.front() == JsonNumbers::kOther) {
      path.remove_prefix(1);
    } else if (letter == 's' && path.starts_with(kLongS)) {
      path.remove_prefix(kLongS.size());
    } else if (letter == 'k' && path.starts_with(kKelvin)) {
      path.remove_prefix(kKelvin.size());
    } else {
      return std::nullopt;
    }
  }
  return path;
}

bool may_be(std::string_view path, std::string_view name) {
  const auto rest = behind(path, name);
  return rest && rest->empty();
}

bool is_vendors(std::string_view path) {
  for (const std::string_view group : kGroups) {
    const auto inside = behind(path, group);
    if (!inside) continue;
    path = *inside;
    break;
  }
  return std::ranges::any_of(kMostTokens,
                             [path](std::string_view name) { return may_be(path, name); });
}

class Asked final : public JsonNumbers::Sink {
 public:
  explicit Asked(std::string_view path) : path_(path) {}

  void number(std::string_view path, std::int64_t value) override {
    if (counts(path)) most_ = std::max(most_, value);
  }
  void no_number(std::string_view path) override { is_clear_ = is_clear_ && !counts(path); }

  std::int64_t most() const { return most_; }
  bool is_clear() const { return is_clear_; }

 private:
  bool counts(std::string_view path) const {
    return path_.empty() ? is_vendors(path) : may_be(path, path_);
  }

  const std::string_view path_;
  std::int64_t most_ = 0;
  bool is_clear_ = true;
};

}  // namespace

std::int64_t asked_tokens(const BodyStart& body, std::string_view path, std::int64_t otherwise) {
  Asked asked(path);
  JsonNumbers numbers(asked);
  numbers.feed(body.bytes.substr(0, BodyStart::kBytesMax));
  const bool says_all = asked.is_clear() && body.is_whole && !numbers.has_failed();
  if (asked.most() > 0 && says_all) return asked.most();
  return std::max(asked.most(), otherwise);
}

}  // namespace weir
