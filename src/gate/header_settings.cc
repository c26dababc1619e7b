#include "gate/header_settings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

RateLimitStyle::Fields fields_named(std::string_view name) {
  if (name == "none") return RateLimitStyle::Fields::kNone;
  if (name == "draft-6") return RateLimitStyle::Fields::kDraft6;
  if (name == "draft-7") return RateLimitStyle::Fields::kDraft7;
  return RateLimitStyle::Fields::kDraft10;
}

}  // namespace

RateLimitStyle header_settings(const ServerSettings& settings) {
  const bool is_epoch = settings.x_reset == "epoch";
  RateLimitStyle style{
      .fields = fields_named(settings.headers),
      .reset = is_epoch ? RateLimitStyle::Reset::kEpoch : RateLimitStyle::Reset::kSeconds};
  if (!settings.x_headers) return style;
  const auto wants = [&](std::string_view name) {
    return std::ranges::count(*settings.x_headers, name) > 0;
  };
  style.x_limit = wants("limit");
  style.x_remaining = wants("remaining");
  style.x_reset = wants("reset");
  return style;
}

}  // namespace weir
