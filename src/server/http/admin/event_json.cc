#include "server/http/admin/event_json.h"

#include <array>
#include <cmath>
#include <ctime>

#include "server/http/admin/key_json.h"
#include "server/http/query.h"

namespace weir {
namespace {

// Nobody reads more of a rate.
double tenths(double value) { return std::round(value * 10) / 10; }

}  // namespace

std::string utc_text(std::int64_t second) {
  const std::time_t epoch_s = second;
  std::tm date{};
  ::gmtime_r(&epoch_s, &date);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%FT%TZ", &date);
  return {text.data(), size};
}

void write_event(JsonWriter& json, const TrafficEvent& event) {
  const bool began = event.kind == TrafficEvent::Kind::kBegan;
  json.key("number").number(event.number).key("event").string(began ? "began" : "ended");
  json.key("rule").string(as_utf8(event.rule));
  json.key("since").string(utc_text(event.since)).key("at").string(utc_text(event.at));
  json.key("requests_per_second").number(tenths(event.rate));
  json.key("band").begin_object().key("low").number(tenths(event.band.low));
  json.key("median").number(tenths(event.band.median));
  json.key("high").number(tenths(event.band.high)).end_object();
  json.key("times_high").number(tenths(event.rate / event.band.high));
  json.key("keys").begin_array();
  for (const KeyEstimate& key : event.keys) {
    write_key_begin(json, key);
    json.end_object();
  }
  json.end_array();
}

}  // namespace weir
