// Metrics: every figure that this node shows, one row each.
//
// A row names the figure, says what it means, and reads it. From it come the sample and the
// help text in Prometheus's format, version 0.0.4, the field of /admin/stats (page_handlers.cc)
// and the line of the table in docs/reference/metrics.md, which metrics_test.cc compares.
//
// To show another figure, add a row to kRows in metrics.cc and nothing else.
//
// Thread rule: any thread. Tested by metrics_test.cc and http_pages_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "observe/traffic.h"
#include "proto/json_writer.h"
#include "rules/rule.h"
#include "server/http/node_view.h"
#include "server/http/reply.h"
#include "server/http/routes.h"
#include "weir/time.h"

namespace weir {

class Engine;

class HttpCore;

// The input of rows: the figures of one moment. Objects that they refer to outlive them.
struct Figures {
  const NodeView& view;
  Instant now{};
  TrafficSummary traffic{};
  HttpCounts::Sum http{};
  NodeFigures node{};
  std::size_t blocks = 0;
  std::uint64_t blocks_dropped = 0;
  Reloads::Figures reload{};
  std::span<const Rule> rules{};    // in force
  std::span<const Route> routes{};  // of the door
  const Engine* engine = nullptr;   // of the core
};

// REQUIRES: the thread is the core's.
Figures figures_of(HttpCore& core, const NodeView& view, Instant now);

// A metric with labels has a sample for each combination of their values.
struct MetricSample {
  std::vector<std::string> labels;  // values, in the order of Metric::labels
  double value = 0;
};
using MetricSamples = std::vector<MetricSample>;

struct MetricLabel {
  std::string_view name{};    // empty: there is no such label
  std::string_view values{};  // for the documents; empty: any
};

// Reads a figure as a double, from a function that returns a number of any type.
class MetricValue {
 public:
  constexpr MetricValue() = default;
  template <typename Read>
  constexpr MetricValue(Read)
      : read_([](const Figures& figures) { return static_cast<double>(Read()(figures)); }) {}

  constexpr explicit operator bool() const { return read_ != nullptr; }
  double operator()(const Figures& figures) const { return read_(figures); }

 private:
  double (*read_)(const Figures& figures) = nullptr;
};

struct Metric {
  enum class Needs : std::uint8_t { kNothing, kSharedStore, kWorld };

  // Prometheus's. The name of a counter ends in _total; all others are gauges.
  std::string_view name;
  std::string_view help;
  // The field of /admin/stats, such as "totals.looks"; one level at most. Empty: the page shows the
  // figure in its own form.
  std::string_view json;
  // Either `value` or `samples` reads the figure.
  MetricValue value;
  Needs needs = Needs::kNothing;
  void (*samples)(const Figures& figures, MetricSamples& samples) = nullptr;
  std::array<MetricLabel, 3> labels{};

  constexpr bool is_counter() const { return name.ends_with("_total"); }
  bool is_shown(const Figures& figures) const {
    if (needs == Needs::kWorld) return figures.node.world.has_value();
    return needs == Needs::kNothing || figures.node.shared.has_value();
  }
  MetricSamples read(const Figures& figures) const;
};

// In the order of Prometheus's text.
std::span<const Metric> metrics();

// ---- as text ----

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

std::string prometheus_text(const Figures& figures);

// Writes the fields of a section into the object that `json` is in: for "totals" those of all
// metrics whose Metric::json is "totals.FIELD". The section "" has those without a section.
void write_section(JsonWriter& json, std::string_view section, const Figures& figures);

// Writes every section that is not in `written`, an object each.
void write_other_sections(JsonWriter& json, std::initializer_list<std::string_view> written,
                          const Figures& figures);

}  // namespace weir
