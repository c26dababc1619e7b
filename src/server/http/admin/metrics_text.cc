#include "server/http/admin/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace weir {
namespace {

prometheus::ClientMetric client_metric(const Metric& metric, MetricSample sample) {
  prometheus::ClientMetric written;
  for (std::size_t i = 0; i < sample.labels.size(); ++i) {
    written.label.push_back({std::string(metric.labels[i].name), std::move(sample.labels[i])});
  }
  written.counter.value = sample.value;  // the serializer reads the field of this type
  written.gauge.value = sample.value;
  return written;
}

prometheus::MetricFamily family_of(const Metric& metric, const Figures& figures) {
  prometheus::MetricFamily family;
  family.name = metric.name;
  family.help = metric.help;
  family.type =
      metric.is_counter() ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  for (MetricSample& sample : metric.read(figures)) {
    family.metric.push_back(client_metric(metric, std::move(sample)));
  }
  return family;
}

struct Path {
  std::string_view section;
  std::string_view field;
};

Path path_of(const Metric& metric) {
  const std::size_t dot = metric.json.find('.');
  if (dot == std::string_view::npos) return {.section = "", .field = metric.json};
  return {.section = metric.json.substr(0, dot), .field = metric.json.substr(dot + 1)};
}

// A count without an exponent; JsonWriter would write a million with one.
void write_number(JsonWriter& json, double value) {
  constexpr double kExactMax = 9'007'199'254'740'992;  // 2^53
  if (std::trunc(value) == value && std::abs(value) <= kExactMax) {
    json.number(static_cast<std::int64_t>(value));
  } else {
    json.number(value);
  }
}

// An object for each label but the last, whose values name the numbers. Samples with the same
// label are neighbours.
void write_by_label(JsonWriter& json, std::span<const MetricSample> samples, std::size_t depth) {
  json.begin_object();
  while (!samples.empty()) {
    const std::vector<std::string>& labels = samples.front().labels;
    json.key(labels[depth]);
    std::size_t count = 1;
    if (depth + 1 == labels.size()) {
      write_number(json, samples.front().value);
    } else {
      while (count < samples.size() && samples[count].labels[depth] == labels[depth]) ++count;
      write_by_label(json, samples.first(count), depth + 1);
    }
    samples = samples.subspan(count);
  }
  json.end_object();
}

}  // namespace

std::string prometheus_text(const Figures& figures) {
  std::vector<prometheus::MetricFamily> families;
  for (const Metric& metric : metrics()) {
    if (metric.is_shown(figures)) families.push_back(family_of(metric, figures));
  }
  return prometheus::TextSerializer().Serialize(families);
}

void write_section(JsonWriter& json, std::string_view section, const Figures& figures) {
  for (const Metric& metric : metrics()) {
    const Path path = path_of(metric);
    if (path.field.empty() || path.section != section || !metric.is_shown(figures)) continue;
    json.key(path.field);
    const MetricSamples samples = metric.read(figures);
    if (metric.samples != nullptr) {
      write_by_label(json, samples, 0);
    } else {
      write_number(json, samples.front().value);
    }
  }
}

void write_other_sections(JsonWriter& json, std::initializer_list<std::string_view> written,
                          const Figures& figures) {
  std::vector<std::string_view> done(written);
  done.emplace_back("");
  for (const Metric& metric : metrics()) {
    const std::string_view section = path_of(metric).section;
    if (std::ranges::find(done, section) != done.end() || !metric.is_shown(figures)) continue;
    done.push_back(section);
    json.key(section).begin_object();
    write_section(json, section, figures);
    json.end_object();
  }
}

}  // namespace weir
