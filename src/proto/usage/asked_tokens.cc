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

// The rest of `path` after `name`. As Go's reader folds letters, U+017F is an s and U+212A is a k.
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
  // Null: models do not matter.
  Asked(const BodyStart& body, std::string_view path, const PriceTable* prices)
      : path_(path), prices_(prices) {
    if (prices != nullptr) read_path(body.path);
    JsonNumbers numbers(*this);
    numbers.feed(body.bytes.substr(0, BodyStart::kBytesMax));
    is_whole_ = body.is_whole && !numbers.has_failed();
  }

  void number(std::string_view path, std::int64_t value) override {
    if (counts(path)) most_ = std::max(most_, value);
  }
  bool no_number(std::string_view path, char first) override {
    is_clear_ = is_clear_ && !counts(path);
    return prices_ != nullptr && first == '"' && may_be(path, "model");
  }
  void text(std::string_view, std::string_view model) override { add_model(model); }

  // The units `asked`, if the body is clear about them; else `otherwise`, if that is more.
  std::int64_t units(std::int64_t asked, std::int64_t otherwise) const {
    if (asked > 0 && is_clear_ && is_whole_) return asked;
    return std::max(asked, otherwise);
  }
  std::int64_t most() const { return most_; }
  // The highest prices of the named models, if all are known.
  std::optional<TokenPrices> prices() const {
    return is_whole_ && knows_all_ ? named_ : std::nullopt;
  }

 private:
  bool counts(std::string_view path) const {
    return path_.empty() ? is_vendors(path) : may_be(path, path_);
  }

  void add_model(std::string_view model) {
    const TokenPrices* const known = prices_->find(model);
    knows_all_ = knows_all_ && known != nullptr;
    if (!named_) named_.emplace();
    if (known != nullptr) named_->raise_to(*known);
  }

  void read_path(std::string_view path) {
    constexpr std::string_view kModels = "/models/";
    for (std::size_t at = path.find(kModels); at != path.npos; at = path.find(kModels)) {
      path.remove_prefix(at + kModels.size());
      add_model(path.substr(0, path.find_first_of("/:")));
    }
  }

  const std::string_view path_;
  const PriceTable* const prices_;
  std::int64_t most_ = 0;
  std::optional<TokenPrices> named_;
  bool knows_all_ = true;
  bool is_clear_ = true;
  bool is_whole_ = false;
};

}  // namespace

std::int64_t asked_tokens(const BodyStart& body, std::string_view path, std::int64_t otherwise) {
  const Asked asked(body, path, nullptr);
  return asked.units(asked.most(), otherwise);
}

AskedCost asked_cost(const BodyStart& body, std::string_view path, std::int64_t otherwise,
                     const PriceTable& prices) {
  const Asked asked(body, path, &prices);
  const auto known = asked.prices();
  const std::int64_t cost = known.value_or(prices.unknown()).cost_of({0, 0, 0, asked.most()});
  return {.units = asked.units(cost, otherwise), .prices = known};
}

}  // namespace weir
