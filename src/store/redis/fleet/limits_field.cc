#include "store/redis/fleet/limits_field.h"

#include <algorithm>

namespace weir {
namespace {

// One beat may be slower than another by so much.
constexpr Duration kLateMax = std::chrono::seconds(1);

std::string milliseconds(Duration length) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(length).count());
}

}  // namespace

void LimitsField::say(std::vector<std::string>& words, Instant now) {
  if (said_.empty()) said_ = notices_.take_shared(kNoticesMax);
  words.push_back(node_);
  for (const LimitNotice& notice : said_) {
    words.push_back(hash_text(notice.counter.high) + hash_text(notice.counter.low) +
                    std::to_string(notice.percent));
    words.push_back(milliseconds(notice.until - now));
    const Duration window = notice.quota.window();
    const Duration slack = notice.quota.is_fixed() ? window / 4 : std::min(window / 4, kLateMax);
    words.push_back(milliseconds(window - slack));
  }
}

// Where a text stands in place of an answer, each node tells people itself.
std::string LimitsField::hear(const resp::Reply& told, Instant) {
  for (std::size_t i = 0; i < said_.size(); ++i) {
    if (told[i].integer() != 0) notices_.tell(std::move(said_[i]));
  }
  said_.clear();
  return {};
}

}  // namespace weir
