// The table of metrics, the texts made of it, and the document.
// WEIR_UPDATE_DOCS=1 updates the table in docs/reference/metrics.md.

#include <boost/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "server/http/admin/metrics.h"

namespace weir {
namespace {

constexpr const char* kDocument = "../../../docs/reference/metrics.md";
constexpr std::string_view kBegin = "<!-- the table of metrics.cc begins -->\n";
constexpr std::string_view kEnd = "<!-- the table of metrics.cc ends -->\n";

// A node with a Redis, and a count in each of its figures.
Figures figures() {
  static const Traffic kTraffic;
  static const Reloads kReloads{Instant{}};
  static const NodeView kView{
      .info = {.version = "1.2.3"}, .traffic = kTraffic, .reloads = kReloads};
  static const Route kRoute{{http1::Method::kPost}, "/check", RouteAccess::kAnybody, {}};
  Figures figures{.view = kView, .routes = {&kRoute, 1}};
  figures.traffic.fallbacks = 4'000'000;
  figures.http[http_requests(0, 200)] = 7;
  figures.node.shared = SharedStoreFigures{.is_healthy = true, .live_nodes = 3};
  figures.node.world = SharedStoreFigures{.is_healthy = true, .live_nodes = 6};
  figures.node.shared->counts[kStoreCalls] = 5;
  figures.node.shared->traffic = {
      .nodes = 3, .rates = {.requests_per_second = 36, .denied_share = 0.25, .burst_ratio = 1}};
  figures.node.shared->failures = {{"refused", 2}, {"timed_out", 0}};
  return figures;
}

std::string labels_in_docs(const Metric& metric) {
  std::string text;
  for (const auto& [name, values] : metric.labels) {
    if (name.empty()) continue;
    text += (text.empty() ? "`" : "; `") + std::string(name) + "`";
    if (!values.empty()) text += ": " + std::string(values);
  }
  return text;
}

std::string table_in_docs() {
  std::string table =
      "| metric | labels | in `/admin/stats` | |\n"
      "|---|---|---|---|\n";
  for (const Metric& metric : metrics()) {
    table += "| `" + std::string(metric.name) + "` | ";
    table += labels_in_docs(metric) + " | ";
    if (!metric.json.empty()) table += "`" + std::string(metric.json) + "`";
    table += " | " + std::string(metric.help) + " |\n";
  }
  return table;
}

TEST(Metrics, AreInTheDocument) {
  std::ifstream in(kDocument);
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = document.find(kBegin) + kBegin.size();
  const std::size_t end = document.find(kEnd);
  ASSERT_TRUE(begin <= end && end < document.size());
  const std::string table = table_in_docs();
  if (std::getenv("WEIR_UPDATE_DOCS") != nullptr) {
    std::ofstream(kDocument) << document.substr(0, begin) << table << document.substr(end);
    return;
  }
  EXPECT_EQ(document.substr(begin, end - begin), table)
      << "run metrics_test with WEIR_UPDATE_DOCS=1 in src/server/http";
}

// A row without a reader would end the server, and two of one name would confuse Prometheus.
TEST(Metrics, AreReadAndNamedOnce) {
  std::set<std::string_view> names;
  std::set<std::string_view> fields;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(metric.name.starts_with("weir_")) << metric.name;
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(metric.json.empty() || fields.insert(metric.json).second) << metric.json;
    EXPECT_LE(std::ranges::count(metric.json, '.'), 1) << metric.json;
    EXPECT_TRUE(metric.help.ends_with(".")) << metric.name;
    EXPECT_NE(static_cast<bool>(metric.value), metric.samples != nullptr) << metric.name;
    const auto labels = static_cast<std::size_t>(std::ranges::count_if(
        metric.labels, [](const auto& label) { return !label.name.empty(); }));
    EXPECT_EQ(metric.samples != nullptr, labels > 0) << metric.name;
    for (const MetricSample& sample : metric.read(figures())) {
      EXPECT_EQ(sample.labels.size(), labels) << metric.name;
    }
  }
}

TEST(Metrics, AreInTheJsonOfTheirSection) {
  JsonWriter writer;
  writer.begin_object();
  write_section(writer, "", figures());
  write_other_sections(writer, {}, figures());
  writer.end_object();
  const boost::json::value json = boost::json::parse(writer.text());
  for (const Metric& metric : metrics()) {
    std::string pointer = "/" + std::string(metric.json);
    std::ranges::replace(pointer, '.', '/');
    if (metric.json.empty()) continue;
    boost::system::error_code error;
    EXPECT_NE(json.find_pointer(pointer, error), nullptr) << pointer << " in " << writer.text();
  }
  EXPECT_EQ(boost::json::serialize(json.at_pointer("/shared_store/failures")),
            R"({"refused":2,"timed_out":0})");
  EXPECT_EQ(boost::json::serialize(json.at_pointer("/http/requests")), R"({"/check":{"2xx":7}})");
  EXPECT_NE(writer.text().find("\"fallbacks\":4000000"), std::string::npos);
  EXPECT_EQ(boost::json::serialize(json.at_pointer("/fleet")),
            R"({"req_per_sec":36,"deny_rate":2.5E-1,"burst_ratio":1,"nodes":3})");
}

TEST(Metrics, OfAFleetAreShownByItsMembersOnly) {
  Figures alone = figures();
  const auto shows = [](const Figures& shown, std::string_view line) {
    return prometheus_text(shown).find(line) != std::string::npos;
  };
  EXPECT_TRUE(shows(alone, "# TYPE weir_fleet_nodes gauge\nweir_fleet_nodes 3\n"));
  EXPECT_TRUE(shows(alone, "weir_store_failures_total{kind=\"refused\"} 2\n"));
  alone.node.shared.reset();
  EXPECT_FALSE(shows(alone, "weir_fleet_nodes"));
  EXPECT_FALSE(shows(alone, "weir_store_failures_total"));
  EXPECT_TRUE(shows(alone, "weir_uptime_seconds 0\n"));
}

}  // namespace
}  // namespace weir
