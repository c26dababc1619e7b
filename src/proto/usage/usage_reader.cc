#include "proto/usage/usage_reader.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/byte_search.h"
#include "weir/quota.h"

namespace weir {
namespace {

constexpr std::string_view kData = "data:";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Name {
  std::string_view text;
  std::size_t part;
};
// The parts from kInput to kToolInput add up to the total; kOfInputCached is in kInput.
enum Part : std::size_t {
  kTotal,
  kInput,
  kOutput,
  kCacheWrite,
  kCacheRead,
  kThoughts,
  kToolInput,
  kOfInputCached,
};
static_assert(kOfInputCached + 1 == UsageReader::kParts);
constexpr Name kNames[] = {
    {"total_tokens", kTotal},
    {"totalTokenCount", kTotal},
    {"prompt_tokens", kInput},
    {"input_tokens", kInput},
    {"promptTokenCount", kInput},
    {"completion_tokens", kOutput},
    {"output_tokens", kOutput},
    {"candidatesTokenCount", kOutput},
    {"cache_creation_input_tokens", kCacheWrite},
    {"cache_read_input_tokens", kCacheRead},
    {"thoughtsTokenCount", kThoughts},
    {"toolUsePromptTokenCount", kToolInput},
    {"prompt_tokens_details.cached_tokens", kOfInputCached},
    {"input_tokens_details.cached_tokens", kOfInputCached},
    {"cachedContentTokenCount", kOfInputCached},
};

bool take(std::string_view& text, std::string_view prefix) {
  const bool begins_so = text.starts_with(prefix);
  if (begins_so) text.remove_prefix(prefix.size());
  return begins_so;
}

// Skips the names around an answer: whole answers have none, events may.
void take_envelope(std::string_view& path) {
  if (!take(path, "message.")) take(path, "response.");
}

// The part that a vendor reports at this path; nothing for other numbers.
std::optional<std::size_t> part_at(std::string_view path) {
  take_envelope(path);
  if (!take(path, "usage.") && !take(path, "usageMetadata.")) return std::nullopt;
  const auto* const name = std::ranges::find(kNames, path, &Name::text);
  if (name == std::end(kNames)) return std::nullopt;
  return name->part;
}

}  // namespace

std::optional<UsageReader::Form> UsageReader::form_of(std::string_view content_type) {
  const std::string_view type = trim_blanks(content_type.substr(0, content_type.find(';')));
  const auto is = [type](std::string_view other) { return equal_ignoring_case(type, other); };
  if (is("text/event-stream")) return Form::kEvents;
  const std::string_view end = type.substr(type.size() - std::min<std::size_t>(5, type.size()));
  if (is("application/x-ndjson")) return Form::kLines;
  if (is("application/json") || equal_ignoring_case(end, "+json")) {
    return Form::kJson;
  }
  return std::nullopt;
}

void UsageReader::feed(std::string_view piece) noexcept {
  switch (form_) {
    case Form::kJson: return numbers_.feed(piece);
    case Form::kLines: return read_lines(piece);
    case Form::kEvents: return read_events(piece);
  }
}

std::optional<std::int64_t> UsageReader::units() const {
  return seen_[kTotal] >= 0 ? seen_[kTotal] : sum();
}

// The sum of the parts.
std::optional<std::int64_t> UsageReader::sum() const {
  std::optional<std::int64_t> sum;
  for (std::size_t part = kInput; part <= kToolInput; ++part) {
    if (seen_[part] >= 0) sum = std::min(sum.value_or(0) + seen_[part], kCostMax);
  }
  return sum;
}

std::optional<std::int64_t> UsageReader::cost(const std::optional<TokenPrices>& asked) const {
  const auto all = units();
  if (!all) return std::nullopt;
  const auto said = [this](Part part) { return std::max<std::int64_t>(0, seen_[part]); };
  const std::int64_t beyond = std::max<std::int64_t>(0, *all - sum().value_or(0));
  const std::int64_t cached = std::min(said(kOfInputCached), said(kInput));
  const TokenPrices otherwise = asked.value_or(prices_->unknown());
  return model_.value_or(otherwise).cost_of({said(kInput) - cached + said(kToolInput),
                                             cached + said(kCacheRead), said(kCacheWrite),
                                             said(kOutput) + said(kThoughts) + beyond});
}

bool UsageReader::no_number(std::string_view path, char first) {
  if (prices_ == nullptr || first != '"') return false;
  take_envelope(path);
  return path == "model" || path == "modelVersion";
}

void UsageReader::text(std::string_view, std::string_view model) {
  const TokenPrices* const known = prices_->find(model);
  if (known == nullptr) {
    unknown_model_ = model;
    return;
  }
  if (!model_) model_.emplace();
  model_->raise_to(*known);
}

void UsageReader::number(std::string_view path, std::int64_t value) {
  std::optional<std::size_t> part;
  if (path_.empty()) {
    part = part_at(path);
  } else if (path == path_) {
    part = kTotal;
  }
  if (part) seen_[*part] = std::max(seen_[*part], value);
}

void UsageReader::read_lines(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t line = std::min(piece.find('\n'), piece.size() - 1) + 1;
    numbers_.feed(piece.substr(0, line));
    if (piece[line - 1] == '\n') numbers_.end();
    piece.remove_prefix(line);
  }
}

void UsageReader::read_events(std::string_view piece) {
  for (; of_mark_ < kByteOrderMark.size() && !piece.empty(); piece.remove_prefix(1)) {
    if (piece.front() != kByteOrderMark[of_mark_++]) {
      of_mark_ = kByteOrderMark.size();
      break;
    }
  }
  const char* const end = piece.data() + piece.size();
  for (const char* at = piece.data(); at != end;) {
    const char* const stop =
        find_byte(at, end, [](ByteGroup bytes) { return (bytes == '\n') | (bytes == '\r'); });
    if (stop != at) read_line({at, stop});
    if (stop == end) return;
    end_line(*stop);
    at = stop + 1;
  }
}

void UsageReader::read_line(std::string_view part) {
  is_blank_ = was_return_ = false;
  for (; is_of_data_ && matched_ < kData.size() && !part.empty(); part.remove_prefix(1)) {
    is_of_data_ = part.front() == kData[matched_++];
  }
  if (is_of_data_) numbers_.feed(part);
}

void UsageReader::end_line(char by) {
  const bool is_of_line_before = by == '\n' && was_return_;
  was_return_ = by == '\r';
  if (is_of_line_before) return;
  if (is_blank_) {
    numbers_.end();  // ends the event, too
  } else if (is_of_data_) {
    numbers_.feed("\n");
  }
  matched_ = 0;
  is_of_data_ = is_blank_ = true;
}

}  // namespace weir
