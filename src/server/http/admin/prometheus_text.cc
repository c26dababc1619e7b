#include "server/http/admin/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

namespace weir {
namespace {

prometheus::ClientMetric client_metric(const Metric& metric, MetricSample sample) {
  prometheus::ClientMetric written;
  for (std::size_t i = 0; i < sample.labels.size(); ++i) {
    written.label.push_back({std::string(metric.labels[i].name), std::move(sample.labels[i])});
  }
  written.counter.value = sample.value;  // the serializer reads the one that the type says
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

}  // namespace

std::string prometheus_text(const Figures& figures) {
  std::vector<prometheus::MetricFamily> families;
  for (const Metric& metric : metrics()) {
    if (metric.is_shown(figures)) families.push_back(family_of(metric, figures));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace weir
