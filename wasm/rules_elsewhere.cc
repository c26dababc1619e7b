// What src/rules takes from libraries that the module has not: time zones are JavaScript's, and of
// expressions, tokens and databases of countries there are none, as `weir export` refuses them.
//
// Thread rule: one thread. Tested by worker/test/matching.test.mjs.

#include <chrono>
#include <string>

#include "rules/request/country_database.h"
#include "rules/request/token.h"
#include "rules/text/path_regexes.h"
#include "rules/time/time_zone.h"

// A number for the zone of that name, above 0; 0 if there is none.
extern "C" [[clang::import_module("js"), clang::import_name("zone")]] int js_zone(
    const char* name, std::size_t length);
// In seconds.
extern "C" [[clang::import_module("js"), clang::import_name("offset")]] double js_offset(
    int zone, double utc);

namespace re2 {
class RE2 {};
}  // namespace re2
namespace simdjson::dom {
class parser {};
}  // namespace simdjson::dom

namespace weir {

class TimeZone {};

// A zone is its number.
const TimeZone* find_zone(const std::string& name) {
  return reinterpret_cast<const TimeZone*>(js_zone(name.data(), name.size()));
}

std::chrono::seconds offset_at(const TimeZone& zone, std::chrono::seconds utc) {
  const double offset = js_offset(static_cast<int>(reinterpret_cast<std::uintptr_t>(&zone)),
                                  static_cast<double>(utc.count()));
  return std::chrono::seconds(static_cast<std::int64_t>(offset));
}

struct PathRegexes::Set {};
PathRegexes::PathRegexes() = default;
PathRegexes::PathRegexes(std::span<PathRegex* const>) {}
PathRegexes::PathRegexes(PathRegexes&&) noexcept = default;
PathRegexes& PathRegexes::operator=(PathRegexes&&) noexcept = default;
PathRegexes::~PathRegexes() = default;
void PathRegexes::match(std::string_view, std::vector<int>& indexes) const { indexes.clear(); }

TokenScratch::TokenScratch() = default;
TokenScratch::~TokenScratch() = default;
TokenVerdict read_claims(std::string_view, const TokenKey*, const ClaimNames&, TokenScratch&,
                         std::vector<NameValue>& claims, Instant) {
  claims.clear();
  return TokenVerdict::kAbsent;
}

struct CountryDatabase::File {};
CountryDatabase::~CountryDatabase() = default;
std::string_view CountryDatabase::country(const IpAddress&) const { return {}; }

}  // namespace weir

// By one instruction each. Those of the C library are 3 KB.
extern "C" {
void* memcpy(void* to, const void* from, std::size_t size) {
  __builtin_memcpy(to, from, size);
  return to;
}
void* memmove(void* to, const void* from, std::size_t size) {
  __builtin_memmove(to, from, size);
  return to;
}
void* memset(void* to, int byte, std::size_t size) {
  __builtin_memset(to, byte, size);
  return to;
}
}
