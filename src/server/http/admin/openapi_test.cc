// /openapi.json matches the code: the same routes, fields and values.

#include <boost/json.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ascii.h"
#include "server/http/check/check_body.h"
#include "server/http/http_session.h"
#include "server/http/http_test_door.h"
#include "server/http/routes.h"

namespace weir {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

const json::value& document() {
  static const json::value kDocument = json::parse(TestDoor().ask(get("/openapi.json")).body);
  return kDocument;
}

const json::value& at(std::string_view pointer) {
  return document().at_pointer({pointer.data(), pointer.size()});
}

Names names_of(const json::value& object) {
  Names names;
  for (const auto& member : object.as_object()) names.emplace(member.key());
  return names;
}

Names strings_of(const json::value& array) {
  Names strings;
  for (const auto& value : array.as_array()) strings.emplace(value.as_string());
  return strings;
}

template <typename Range>
Names as_names(const Range& range) {
  return {range.begin(), range.end()};
}

Names fields_of(TestDoor& door, std::string_view request) {
  return names_of(json::parse(door.ask(request).body));
}

// A route that takes any method is described under one.
std::vector<std::string> documented_methods(const Route& route) {
  if (route.takes_anything()) return {"get"};
  std::vector<std::string> names;
  for (const auto& [method, name] : {std::pair{http1::Method::kGet, "get"},
                                     {http1::Method::kPost, "post"},
                                     {http1::Method::kPut, "put"},
                                     {http1::Method::kPatch, "patch"},
                                     {http1::Method::kDelete, "delete"}}) {
    if (route.methods.holds(method)) names.emplace_back(name);
  }
  return names;
}

std::vector<Route> routes() {
  TestDoor door;
  const auto all = door.door.core().routes().all();
  return {all.begin(), all.end()};
}

TEST(OpenApi, ListsExactlyTheRoutes) {
  Names listed;
  for (const auto& path : at("/paths").as_object()) {
    for (const auto& method : path.value().as_object()) {
      if (method.key() == "parameters") continue;
      listed.emplace(std::string(method.key()) + " " + std::string(path.key()));
    }
  }
  Names expected;
  for (const Route& route : routes()) {
    for (const auto& method : documented_methods(route)) {
      expected.emplace(method + " " + std::string(route.path));
    }
  }
  EXPECT_EQ(listed, expected);
}

TEST(OpenApi, SecuresExactlyTheAdminRoutes) {
  for (const Route& route : routes()) {
    const auto& path = at("/paths").as_object().at(std::string(route.path)).as_object();
    for (const auto& method : documented_methods(route)) {
      EXPECT_EQ(path.at(method).as_object().contains("security"),
                route.access == RouteAccess::kAdmin)
          << route.path;
    }
  }
}

// As in the table: a name that ends in ':' begins other names, which only the text tells.
Names parameters_of(const Route& route, std::string_view method) {
  std::string_view known = method == "get" ? route.parameters.of_get : route.parameters.of_others;
  Names names;
  while (!known.empty()) {
    const std::string_view name = take_until(known, ' ');
    if (!name.ends_with(':')) names.emplace(name);
  }
  return names;
}

TEST(OpenApi, NamesTheParametersThatAdminRoutesTake) {
  for (const Route& route : routes()) {
    if (route.access != RouteAccess::kAdmin) continue;
    const auto& path = at("/paths").as_object().at(std::string(route.path)).as_object();
    for (const auto& method : documented_methods(route)) {
      Names named;
      for (const auto& of : {path, path.at(method).as_object()}) {
        const auto* const list = of.if_contains("parameters");
        for (const auto& each : list == nullptr ? json::array() : list->as_array()) {
          const bool is_ours = each.as_object().contains("in") && each.at("in") == "query";
          if (is_ours) named.emplace(each.at("name").as_string());
        }
      }
      EXPECT_EQ(named, parameters_of(route, method)) << method << " " << route.path;
    }
  }
}

TEST(OpenApi, NamesTheFieldsThatAreRead) {
  EXPECT_EQ(names_of(at("/components/schemas/Check/properties")), as_names(kCheckFieldNames));
  EXPECT_EQ(names_of(at("/components/schemas/CheckList/properties")),
            as_names(kCheckListFieldNames));
}

TEST(OpenApi, KnowsTheBounds) {
  EXPECT_EQ(at("/components/schemas/Check/properties/limit/maximum").as_int64(), kLimitMax);
  EXPECT_EQ(at("/components/schemas/Check/properties/cost/maximum").as_int64(), kCostMax);
  EXPECT_EQ(at("/components/schemas/Check/properties/cost/minimum").as_int64(), -kCostMax);
  EXPECT_EQ(at("/components/schemas/Check/properties/key/maxLength").as_int64(),
            static_cast<std::int64_t>(kKeyMax));
  EXPECT_EQ(at("/components/schemas/CheckList/properties/checks/maxItems").as_int64(),
            static_cast<std::int64_t>(kChecksMax));
}

TEST(OpenApi, NamesTheAlgorithms) {
  Names expected;
  for (int i = 0; i < kAlgorithmCount; ++i) {
    expected.emplace(algorithm_name(static_cast<Algorithm>(i)));
  }
  EXPECT_EQ(strings_of(at("/components/schemas/Algorithm/enum")), expected);
}

TEST(OpenApi, NamesWhatIsAnswered) {
  TestDoor door;
  const std::string check = R"({"key":"a","limit":1,"window":60})";
  struct Case {
    std::string schema;
    std::string request;
    Names sometimes{};  // fields that this answer need not have
  };
  for (const Case& c : {
           Case{"Decision", post("/check", check), {"mode", "shadow"}},
           Case{"Health",
                get("/health"),
                {"state", "reason", "since_seconds", "nodes", "config_rejected_for_seconds",
                 "world"}},
           Case{"Metrics", get("/metrics"), {"scope", "nodes", "node"}},
           Case{"Stats", get("/admin/stats"), {"shared_store", "world"}},
           Case{"Rules", get("/admin/rules")},
           Case{"RuleInForce",
                get("/admin/rules/login"),
                {"following", "in_force", "in_force_at", "words", "fleet", "over_now_max",
                 "over_now_percent", "over_now_because", "misjudged"}},
           Case{"RuleChanged", request("PUT", "/admin/rules/login", "{}"), {"fleet"}},
           Case{"RuleHistory", get("/admin/history?rule=login")},
           Case{"WentBack", post("/admin/history", R"({"back_to":6})"), {"fleet"}},
           Case{"Events", get("/admin/events")},
           Case{"Verdict", post("/admin/rules/validate?dry_run=5m", "rules: []")},
           Case{"RulesOfVersion", get("/admin/history/7")},
           Case{"ConsoleSession", get("/console/session")},
           Case{"Blocks", get("/admin/blocks"), {"told"}},
           Case{"Tenants", get("/admin/tenants"), {"told", "waiting", "lost"}},
           Case{"Tenant", get("/admin/tenants/ann"), {"plan", "window", "anchor"}},
           Case{"Problem", post("/check", "{}")},
           Case{"DecisionList", post("/v1/check", "{\"checks\":[" + check + "],\"atomic\":true}")},
       }) {
    auto named = names_of(at("/components/schemas/" + c.schema + "/properties"));
    for (const std::string& field : c.sometimes) EXPECT_EQ(named.erase(field), 1u) << field;
    EXPECT_EQ(named, fields_of(door, c.request)) << c.schema;
  }
}

TEST(OpenApi, NamesWhatADryRunSays) {
  TestDoor door;
  door.desk.verdict.dry_runs = {{.rule = "login", .curve = {{.limit = 5}}}};
  const auto said = json::parse(door.ask(post("/admin/rules/validate?dry_run=5m", "")).body);
  const json::value& run = said.at("dry_runs").at(0);
  auto named = names_of(at("/components/schemas/DryRun/properties"));
  EXPECT_EQ(named.erase("unknown"), 1u);
  EXPECT_EQ(named, names_of(run));
  EXPECT_EQ(names_of(at("/components/schemas/DryRunCount/properties")), names_of(run.at("asked")));
  EXPECT_EQ(names_of(at("/components/schemas/DryRunOutcome/properties")),
            names_of(run.at("wanted")));
  EXPECT_EQ(names_of(at("/components/schemas/DryRun/properties/curve/items/properties")),
            names_of(run.at("curve").at(0)));
}

TEST(OpenApi, NamesWhatIsSaidOfBusyKeys) {
  const Quota quota = *Quota::make({.limit = 5, .window = std::chrono::seconds(60)});
  TestDoor door(
      {.rules = {{.id = "login", .quota = quota}}, .access = {}, .key_texts = KeyTexts::kShown});
  door.ask(post("/check", R"({"rule":"login","key":"alice"})"));
  door.fleet_keys.set_trouble("WRONGTYPE");
  const json::value busiest = json::parse(door.ask(get("/admin/busiest?rule=login")).body);
  EXPECT_EQ(names_of(at("/components/schemas/BusiestKeys/properties")), names_of(busiest));
  EXPECT_EQ(names_of(at("/components/schemas/BusyKey/properties")),
            names_of(busiest.at("keys").at(0)));
  door.events.add({.rule = "login", .keys = {{.hash = 1, .low = 2, .text = "alice"}}});
  door.events.add({.kind = TrafficEvent::Kind::kRollout, .rule = "login", .text = "has ended"});
  door.events.add({.kind = TrafficEvent::Kind::kLimit,
                   .rule = "login",
                   .text = "80%",
                   .keys = {{.hash = 1, .low = 8}},
                   .percent = 80,
                   .limit = 9,
                   .quota = quota});
  const json::value events = json::parse(door.ask(get("/admin/events")).body);
  const json::value& event = events.at("events").at(0);
  auto named = names_of(at("/components/schemas/Event/properties"));
  for (const char* const of_others : {"text", "percent", "limit", "window_seconds", "calendar"}) {
    EXPECT_EQ(named.erase(of_others), 1u) << of_others;
  }
  EXPECT_EQ(named, names_of(event));
  EXPECT_EQ(json::serialize(events.at("events").at(1)),
            R"({"number":2,"event":"rollout","rule":"login","at":"1970-01-01T00:00:00Z",)"
            R"("text":"has ended"})");
  EXPECT_EQ(json::serialize(events.at("events").at(2)),
            R"({"number":3,"event":"limit","rule":"login","at":"1970-01-01T00:00:00Z",)"
            R"("text":"80%","percent":80,"limit":9,"window_seconds":60,)"
            R"("keys":[{"hash":"0000000000000001","count":8}]})");
  EXPECT_EQ(names_of(at("/components/schemas/Event/properties/keys/items/properties")),
            names_of(event.at("keys").at(0)));
}

TEST(OpenApi, NamesTheHeaders) {
  TestDoor door;
  const std::string body = R"({"key":"a","limit":1,"window":60})";
  door.ask(post("/check", body));
  const TestReply denied = door.ask(post("/check", body));
  for (const auto& name : names_of(at("/components/responses/Decision/headers"))) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(denied.fields.count(lower), 1u) << name;
  }
}

TEST(OpenApi, ReferencesResolve) {
  const std::string text = json::serialize(document());
  const std::string start = "\"$ref\":\"#";
  int references = 0;
  for (auto from = text.find(start); from != std::string::npos; from = text.find(start, from + 1)) {
    const auto begin = from + start.size();
    const std::string pointer = text.substr(begin, text.find('"', begin) - begin);
    json::error_code error;
    EXPECT_NE(document().find_pointer(pointer, error), nullptr) << pointer;
    ++references;
  }
  EXPECT_GT(references, 20);
}

}  // namespace
}  // namespace weir
