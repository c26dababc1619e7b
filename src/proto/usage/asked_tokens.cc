#include "proto/usage/asked_tokens.h"

#include <algorithm>

#include "base/ascii.h"
#include "proto/usage/json_numbers.h"

namespace weir {
namespace {

constexpr std::string_view kMostTokens[] = {"max_tokens", "max_completion_tokens",
                                            "max_output_tokens", "maxOutputTokens"};
constexpr std::string_view kGroups[] = {"generationConfig.", "generation_config."};

bool is_vendors(std::string_view path) {
  for (const std::string_view group : kGroups) {
    if (!equal_ignoring_case(path.substr(0, group.size()), group)) continue;
    path.remove_prefix(group.size());
    break;
  }
  return std::ranges::any_of(
      kMostTokens, [path](std::string_view name) { return equal_ignoring_case(path, name); });
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
    return path_.empty() ? is_vendors(path) : equal_ignoring_case(path, path_);
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
