// Random scenarios. Each feature is in only some of them, so that no feature always hides another.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/duration_text.h"
#include "base/prng.h"
#include "simulate/scenario.h"
#include "simulate/tenants.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kQuiet = seconds(13);        // in which the fleet recovers
constexpr Duration kQuietPlaces = seconds(18);  // the same with several places
constexpr std::uint32_t kPlacesOneIn = 12;

// Summer time that skips and repeats the hour, a leap day, short months, the ends of a year and a
// week. Python's zoneinfo has computed them.
constexpr Boundary kBoundaries[] = {
    {R"("window":"day","zone":"Europe/Berlin","resets_at":"02:30")", 1'711'846'800},
    {R"("window":"day","zone":"Europe/Berlin","resets_at":"02:30")", 1'729'989'000},
    {R"("window":"day")", 1'709'164'800},
    {R"("window":"month","anchor":31,"zone":"America/New_York","resets_at":"09:00")",
     1'709'215'200},
    {R"("window":"week","week_starts":"sun","zone":"Asia/Tokyo")", 1'703'948'400},
    {R"("window":"year","zone":"Asia/Kolkata")", 1'704'047'400},
    {R"("window":"month","zone":"Australia/Lord_Howe")", 1'709'211'600},
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : chance_(seed) {}

  Scenario scenario() {
    Scenario drawn;
    is_shared_ = one_in(5) ? false : true;
    has_faults_ = is_shared_ ? !one_in(4) : one_in(2);
    drawn.nodes = is_shared_ ? between(1, 4) : 1;
    busy_ = seconds(between(2, 8));
    drawn.length = busy_ + (has_faults_ ? kQuiet : Duration(seconds(1)));
    if (one_in(3)) drawn.latency = Duration(between(50, 4'000));
    if (one_in(8)) drawn.latency = Duration(between(4'000, 25'000));
    if (one_in(3)) drawn.jitter = Duration(between(0, 4'000));
    drawn.settings = settings(drawn);
    for (std::int64_t i = between(1, 3); i > 0; --i) drawn.rules.push_back(rule(drawn));
    if (one_in(6)) drawn.loss = static_cast<double>(between(1, 30)) / 10;
    if (one_in(3)) drawn.skew = milliseconds(between(1, 5'000));
    if (one_in(3)) drawn.drift = between(1, 300);
    for (std::int64_t i = between(1, 3); i > 0; --i) drawn.traffic.push_back(source(drawn));
    for (std::int64_t i = has_faults_ ? between(1, 5) : 0; i > 0; --i) {
      drawn.faults.push_back(fault(drawn));
    }
    if (is_shared_ && has_faults_ && one_in(5)) add_block_story(drawn);
    if (is_shared_ && one_in(8)) add_bucket_story(drawn);
    if (is_shared_ && !has_faults_ && one_in(3)) add_async_story(drawn, 2, R"("mode":"async")");
    if (one_in(4)) add_work_story(drawn);
    if (one_in(6)) add_slots_story(drawn, size(40));
    if (one_in(5)) add_calendar_story(drawn);
    if (is_shared_ && one_in(6)) add_lease_story(drawn);
    if (is_shared_ && one_in(6)) add_tenants_story(drawn);
    std::ranges::stable_sort(drawn.faults, {}, &Fault::at);
    return drawn;
  }

  // Three places, whose rules count over all of them.
  Scenario places() {
    constexpr std::array<std::int64_t, 4> kWindows = {1, 2, 10, 60};
    constexpr std::array<std::string_view, 4> kAlgorithms = {"fixed_window", "fixed_window",
                                                             "sliding_window", "token_bucket"};
    constexpr std::array<std::string_view, 3> kFailures = {"local", "local", "deny"};
    is_shared_ = true;
    has_faults_ = !one_in(3);
    busy_ = seconds(between(2, 10));
    Scenario drawn{.length = busy_ + (has_faults_ ? kQuietPlaces : Duration(seconds(1))),
                   .nodes = between(2, 6),
                   .settings = R"({"store":{"redis":"redis://redis","world":"redis://world"}})",
                   .places = {milliseconds(0), milliseconds(80), milliseconds(150)}};
    if (one_in(3)) drawn.jitter = Duration(between(0, 20'000));
    if (one_in(4)) drawn.skew = milliseconds(between(1, 5'000));
    for (std::int64_t i = between(1, 2); i > 0; --i) {
      const std::int64_t limit = size(300);
      const std::int64_t window = any_of(kWindows);
      per_second_.push_back(std::ceil(static_cast<double>(limit) / static_cast<double>(window)));
      std::string rule = "{\"id\":\"r" + std::to_string(drawn.rules.size()) +
                         R"(","scope":"world","algorithm":")" + std::string(any_of(kAlgorithms)) +
                         "\",\"limit\":" + std::to_string(limit) + ",\"window\":\"" +
                         std::to_string(window) + R"(s","on_store_failure":")" +
                         std::string(any_of(kFailures)) + "\"";
      if (one_in(4)) rule += ",\"on_deny\":{\"block\":\"" + std::to_string(between(2, 20)) + "s\"}";
      drawn.rules.push_back(rule + "}");
    }
    for (std::int64_t i = between(1, 3); i > 0; --i) {
      drawn.traffic.push_back(source(drawn));
      drawn.traffic.back().refunds = 0;
    }
    for (std::int64_t i = has_faults_ ? between(1, 4) : 0; i > 0; --i) {
      drawn.faults.push_back(fault(drawn));
    }
    if (has_faults_ && one_in(4)) add_block_story(drawn);
    if (!has_faults_ && one_in(2)) add_async_story(drawn, 4, R"("scope":"world")");
    std::ranges::stable_sort(drawn.faults, {}, &Fault::at);
    return drawn;
  }

 private:
  bool one_in(std::uint32_t many) { return chance_.below(many) == 0; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + chance_.below(static_cast<std::uint32_t>(most - least + 1));
  }
  template <typename Value, std::size_t kSize>
  const Value& any_of(const std::array<Value, kSize>& values) {
    return values[chance_.below(kSize)];
  }
  // Draws small sizes as often as large ones.
  std::int64_t size(std::int64_t most) {
    std::int64_t value = between(1, most);
    while (value > 1 && one_in(2)) value = (value + 1) / 2;
    return value;
  }

  // The deadline is one that Redis can meet.
  std::string settings(const Scenario& drawn) {
    const Duration trip = 2 * (drawn.latency + drawn.jitter);
    constexpr std::array<std::string_view, 4> kModes = {"strict", "leased", "async", "leased"};
    std::string text = "{\"max_keys\":" + std::to_string(one_in(4) ? 1024 : 16384);
    if (is_shared_) {
      text += R"(,"store":{"redis":"redis://redis","mode":")" + std::string(any_of(kModes)) +
              "\",\"deadline\":\"" + format_duration(trip + milliseconds(between(5, 60))) +
              "\",\"sync_interval\":\"" + format_duration(milliseconds(any_of(kIntervals))) + "\"}";
    }
    return text + "}";
  }

  std::string rule(const Scenario& drawn) {
    constexpr std::array<std::string_view, 9> kAlgorithms = {
        "fixed_window",   "fixed_window", "fixed_window",        "token_bucket", "token_bucket",
        "sliding_window", "sliding_log",  "exponential_backoff", "adaptive"};
    constexpr std::array<std::string_view, 4> kModes = {"strict", "leased", "async", "local"};
    constexpr std::array<std::int64_t, 6> kWindows = {1, 1, 2, 5, 10, 60};
    constexpr std::array<std::string_view, 4> kFailures = {"local", "local", "allow", "deny"};
    const bool is_roomy = one_in(5);  // all admitted units then still count at the end
    const auto algorithm = is_roomy ? kAlgorithms.front() : any_of(kAlgorithms);
    const std::int64_t limit = is_roomy ? between(200, 700) : size(300);
    const std::int64_t window = is_roomy ? 60 : any_of(kWindows);
    per_second_.push_back(std::ceil(static_cast<double>(limit) / static_cast<double>(window)));
    std::string text = "{\"id\":\"r" + std::to_string(drawn.rules.size()) + "\",\"algorithm\":\"" +
                       std::string(algorithm) + "\",\"limit\":" + std::to_string(limit) +
                       ",\"window\":\"" + std::to_string(window) + "s\"";
    if (algorithm == "token_bucket" && one_in(2)) {
      text += ",\"burst\":" + std::to_string(size(2 * limit));
    }
    if (one_in(8)) {
      text += ",\"more_limits\":[{\"limit\":" + std::to_string(size(2 * limit)) + ",\"window\":\"" +
              std::to_string(3 * window) + "s\"}]";
    }
    if (is_shared_ && one_in(3)) text += ",\"mode\":\"" + std::string(any_of(kModes)) + "\"";
    if (is_shared_ && one_in(2)) {
      text += ",\"on_store_failure\":\"" + std::string(any_of(kFailures)) + "\"";
    }
    if (one_in(6)) text += ",\"on_deny\":{\"block\":\"" + std::to_string(between(2, 20)) + "s\"}";
    return text + "}";
  }

  TrafficSource source(const Scenario& drawn) {
    using Kind = TrafficSource::Kind;
    constexpr std::array kKinds = {Kind::kSteady, Kind::kSteady,  Kind::kBursts,  Kind::kCron,
                                   Kind::kAttack, Kind::kPatient, Kind::kPatient, Kind::kHasty};
    TrafficSource source{.kind = any_of(kKinds)};
    source.keys = source.kind == Kind::kAttack ? 20'000 : size(20);
    source.rate = static_cast<double>(size(source.kind == Kind::kCron ? 20 : 200));
    if (source.kind == Kind::kCron) source.keys = size(8);
    const auto rules = static_cast<std::int64_t>(drawn.rules.size());
    const std::int64_t first = between(0, rules - 1);
    const double allowed = per_second_[static_cast<std::size_t>(first)];  // of a key
    if (source.kind == Kind::kPatient || source.kind == Kind::kHasty) {
      source.rate = one_in(3) ? static_cast<double>(size(20)) : std::clamp(3 * allowed, 1.0, 60.0);
      source.keys = size(8);
    } else if (source.kind != Kind::kAttack && source.kind != Kind::kCron && one_in(3)) {
      source.keys = size(3);
      source.rate =
          std::clamp(static_cast<double>(source.keys * between(1, 4)) * allowed, 1.0, kRateMax);
    }
    source.rules = {"r" + std::to_string(first)};
    if (rules > 1 && one_in(4)) source.rules.push_back("r" + std::to_string((first + 1) % rules));
    if (one_in(4)) source.cost = size(8);
    if (one_in(4)) source.node = between(0, drawn.nodes - 1);
    if (one_in(5)) source.looks = between(1, 40);
    if (one_in(6)) source.refunds = between(1, 20);
    if (one_in(6)) source.charges = between(1, 10);
    if (one_in(4)) source.from = Duration(chance_.below(2'000'000));
    source.until = has_faults_ ? std::optional(busy_ + seconds(between(0, 12))) : std::nullopt;
    return source;
  }

  Fault fault(const Scenario& drawn) {
    const auto first = is_shared_ ? Fault::Kind::kCut : Fault::Kind::kKill;
    const auto kinds = static_cast<std::int64_t>(Fault::Kind::kLift) + 1;
    Fault fault{.kind =
                    static_cast<Fault::Kind>(between(static_cast<std::int64_t>(first), kinds - 1))};
    fault.at = Duration(chance_.below(static_cast<std::uint32_t>(busy_.count() * 3 / 4)));
    const Duration left = busy_ - fault.at;
    fault.length = std::min<Duration>(left, milliseconds(between(1, one_in(2) ? 300 : 4'000)));
    if (drawn.nodes > 1 && !one_in(3)) fault.node = between(0, drawn.nodes - 1);
    if (fault.kind == Fault::Kind::kFailover) fault.length = milliseconds(between(0, 200));
    if (fault.kind == Fault::Kind::kBlock || fault.kind == Fault::Kind::kLift) {
      fault.rule = one_in(2) ? "" : "r0";
      fault.key = "k" + std::to_string(between(0, 3));
      fault.node = between(0, drawn.nodes - 1);
      if (fault.kind == Fault::Kind::kBlock) fault.length = seconds(between(2, 40));
    }
    return fault;
  }

  // A block that has to outlive losses of Redis and of the nodes, and its lift.
  void add_block_story(Scenario& drawn) {
    constexpr std::array kLosses = {Fault::Kind::kRestart, Fault::Kind::kFailover,
                                    Fault::Kind::kCut, Fault::Kind::kPause};
    constexpr std::array kLeaves = {Fault::Kind::kKill, Fault::Kind::kLeave};
    Fault act{.kind = Fault::Kind::kBlock,
              .at = busy_ / 8,
              .length = seconds(between(20, 60)),
              .node = between(0, drawn.nodes - 1),
              .key = "k" + std::to_string(between(0, 3))};
    drawn.faults.push_back(act);
    const auto add = [&](Fault::Kind kind, int eighths) {
      drawn.faults.push_back({.kind = kind,
                              .at = busy_ * eighths / 8,
                              .length = milliseconds(between(1, 300)),
                              .node = between(0, drawn.nodes - 1)});
    };
    if (!one_in(3)) add(any_of(kLosses), 3);
    if (!one_in(3)) add(any_of(kLeaves), 5);
    if (!one_in(2)) return;
    act.kind = Fault::Kind::kLift;
    act.at = busy_ * 3 / 4;
    act.node = between(0, drawn.nodes - 1);
    drawn.faults.push_back(act);
  }

  // A bucket of which nodes long hold a part, before all ask for all of it at once.
  void add_bucket_story(Scenario& drawn) {
    const std::string id = "r" + std::to_string(drawn.rules.size());
    const std::int64_t limit = between(60, 300);
    drawn.rules.push_back("{\"id\":\"" + id + "\",\"algorithm\":\"token_bucket\",\"limit\":" +
                          std::to_string(limit) + R"(,"window":"10s","mode":"leased"})");
    drawn.traffic.push_back({.rules = {id}, .rate = 3, .keys = 1, .until = busy_});
    drawn.traffic.push_back({.kind = TrafficSource::Kind::kBursts,
                             .rules = {id},
                             .rate = static_cast<double>(limit),
                             .keys = 1,
                             .from = busy_ / 2,
                             .until = busy_});
  }

  // Units that are held for work under way.
  void add_work_story(Scenario& drawn) {
    const std::string id = "r" + std::to_string(drawn.rules.size());
    const std::int64_t limit = size(200);
    const std::int64_t window = any_of(std::array<std::int64_t, 4>{1, 2, 5, 10});
    std::string rule = "{\"id\":\"" + id + R"(","algorithm":"fixed_window","limit":)" +
                       std::to_string(limit) + ",\"window\":\"" + std::to_string(window) +
                       "s\",\"max_holds\":" + std::to_string(between(1, 60));
    if (one_in(3)) rule += R"(,"lapse":"refund")";
    if (is_shared_) rule += one_in(4) ? R"(,"mode":"local")" : R"(,"mode":"strict")";
    drawn.rules.push_back(rule + "}");
    drawn.traffic.push_back({.kind = TrafficSource::Kind::kWork,
                             .rules = {id},
                             .rate = static_cast<double>(size(60)),
                             .keys = size(4),
                             .cost = size(limit),
                             .hold = milliseconds(between(100, 1000 * window)),
                             .until = busy_});
  }

  // Slots for work under way, of which there are only so many.
  void add_slots_story(Scenario& drawn, std::int64_t limit, std::string_view more = "") {
    const std::string id = "r" + std::to_string(drawn.rules.size());
    drawn.rules.push_back("{\"id\":\"" + id + R"(","of":"concurrency","limit":)" +
                          std::to_string(limit) + std::string(more) + "}");
    drawn.traffic.push_back({.kind = TrafficSource::Kind::kWork,
                             .rules = {id},
                             .rate = static_cast<double>(size(60)),
                             .keys = size(3),
                             .hold = milliseconds(between(50, 4'000)),
                             .until = busy_});
  }

  // The same with leased slots. At first nobody gets one, so it takes longer.
  void add_lease_story(Scenario& drawn) {
    using enum Fault::Kind;
    constexpr std::array kBreaks = {kKill, kFreeze, kCut, kHalfCut, kFailover, kRestart, kLeave};
    const std::int64_t limit = one_in(3) ? between(1, drawn.nodes) : size(40);
    add_slots_story(drawn, limit, R"(,"mode":"leased")");
    const Duration busy = std::max<Duration>(busy_, seconds(between(6, 10)));
    for (std::int64_t i = has_faults_ ? between(0, 2) : 0; i > 0; --i) {
      drawn.faults.push_back({.kind = any_of(kBreaks),
                              .at = milliseconds(between(3'000, busy / milliseconds(1))),
                              .length = milliseconds(between(1, one_in(2) ? 300 : 4'000)),
                              .node = between(0, drawn.nodes - 1)});
    }
    drawn.traffic.back().until = busy + (has_faults_ ? seconds(between(0, 8)) : seconds(0));
    drawn.length += busy + (has_faults_ ? seconds(4) : seconds(0)) - busy_;
  }

  // Limits of single keys, which change at any node: mostly alone, some with many others.
  void add_tenants_story(Scenario& drawn) {
    constexpr std::array<std::string_view, 4> kModes = {"strict", "leased", "async", "local"};
    const std::string id = "r" + std::to_string(drawn.rules.size());
    drawn.rules.push_back(
        "{\"id\":\"" + id +
        R"(","algorithm":"fixed_window","limit":20,"window":"2s","tenants":true)" + ",\"mode\":\"" +
        std::string(any_of(kModes)) + "\"}");
    drawn.traffic.push_back(
        {.rules = {id}, .rate = static_cast<double>(size(60)), .keys = 5, .until = busy_});
    for (std::int64_t i = between(2, 12); i > 0; --i) {
      Fault rows{.kind = Fault::Kind::kRows,
                 .at = milliseconds(between(0, busy_ / milliseconds(1))),
                 .node = between(0, drawn.nodes - 1),
                 .key = "k" + std::to_string(between(0, 4)),
                 .limit = one_in(4) ? SimTenants::kGone : size(40)};
      if (one_in(4)) rows.rows = one_in(3) ? between(100, 400) : size(60);
      drawn.faults.push_back(rows);
    }
    if (!has_faults_) drawn.length += kQuiet;
  }

  // A window of a calendar that ends meanwhile. Or one that does not, in any zone of the nodes.
  void add_calendar_story(Scenario& drawn) {
    constexpr std::array<std::string_view, 4> kModes = {"strict", "strict", "leased", "local"};
    constexpr std::array<std::string_view, 4> kZones = {"Asia/Kathmandu", "America/St_Johns",
                                                        "Pacific/Apia", "Pacific/Honolulu"};
    constexpr std::array<std::string_view, 3> kUnits = {"day", "week", "month"};
    constexpr std::int64_t kNoBoundary = 1'710'505'020;  // 12:17 UTC, and a quarter in each zone
    const std::string id = "r" + std::to_string(drawn.rules.size());
    const std::int64_t limit = size(200);
    const bool moves = has_faults_ && one_in(2);
    const Boundary& boundary = kBoundaries[chance_.below(std::size(kBoundaries))];
    std::string rule = "{\"id\":\"" + id + "\",\"limit\":" + std::to_string(limit) + ",";
    if (moves) {
      drawn.begins = Instant(seconds(kNoBoundary));
      rule += "\"window\":\"" + std::string(any_of(kUnits)) + "\"";
      drawn.faults.push_back({.kind = Fault::Kind::kZone,
                              .at = busy_ * between(2, 6) / 8,
                              .rule = id,
                              .zone = std::string(any_of(kZones))});
      if (one_in(3)) drawn.faults.back().node = between(0, drawn.nodes - 1);
    } else {
      drawn.begins = Instant(seconds(boundary.at_s - between(1, busy_ / seconds(1) - 1)));
      rule += boundary.fields;
    }
    if (is_shared_) rule += ",\"mode\":\"" + std::string(any_of(kModes)) + "\"";
    drawn.rules.push_back(rule + "}");
    drawn.traffic.push_back({.rules = {id},
                             .rate = static_cast<double>(std::max<std::int64_t>(20, limit)),
                             .keys = size(4),
                             .cost = one_in(3) ? size(8) : 1,
                             .until = busy_});
    drawn.traffic.push_back({.kind = TrafficSource::Kind::kPatient,
                             .rules = {id},
                             .rate = static_cast<double>(size(60)),
                             .keys = size(4)});
  }

  // A limit that nodes with one clock use up together in the middle of each window.
  void add_async_story(Scenario& drawn, std::int64_t window_s, const std::string& how) {
    drawn.nodes = std::max<std::int64_t>(2, drawn.nodes);
    drawn.skew = Duration(0);
    drawn.drift = 0;
    drawn.loss = 0;
    const std::string id = "r" + std::to_string(drawn.rules.size());
    const std::int64_t limit = between(60, 300);
    drawn.rules.push_back("{\"id\":\"" + id +
                          "\",\"algorithm\":\"fixed_window\",\"limit\":" + std::to_string(limit) +
                          ",\"window\":\"" + std::to_string(window_s) + "s\"," + how + "}");
    const double rate = 3 * static_cast<double>(limit) / static_cast<double>(window_s);
    drawn.traffic.push_back({.rules = {id}, .rate = rate, .keys = 1});
  }

  static constexpr double kRateMax = 800;
  static constexpr std::array<std::int64_t, 5> kIntervals = {50, 250, 500, 500, 1000};

  Prng chance_;
  bool is_shared_ = false;
  bool has_faults_ = false;
  Duration busy_{};
  std::vector<double> per_second_;  // of each rule
};

}  // namespace

std::span<const Boundary> boundaries() { return kBoundaries; }

Scenario draw_scenario(std::uint64_t seed) {
  const bool has_places = Prng(~seed).below(kPlacesOneIn) == 0;
  Scenario scenario = has_places ? Draw(seed).places() : Draw(seed).scenario();
  scenario.name = "drawn from seed " + std::to_string(seed);
  return scenario;
}

}  // namespace weir::sim
