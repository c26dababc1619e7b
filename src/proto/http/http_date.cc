#include "proto/http/http_date.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/assert.h"

namespace weir {

// Weir sets no locale, so the names are English.
HttpDate http_date(Instant instant) {
  const std::time_t epoch_s =
      std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch()).count();
  std::tm date{};
  ::gmtime_r(&epoch_s, &date);
  std::array<char, kHttpDateSize + 1> text;  // with a zero behind it
  WEIR_ASSERT(std::strftime(text.data(), text.size(), "%a, %d %b %Y %T GMT", &date) ==
              kHttpDateSize);
  HttpDate written;
  std::copy_n(text.begin(), kHttpDateSize, written.begin());
  return written;
}

}  // namespace weir
