#include "load/report.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace weir::load {
namespace {

struct Quantile {
  const char* name;
  double value;
};
constexpr std::array<Quantile, 4> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

double ms(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }
double seconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

using Count = unsigned long long;  // what %llu prints

[[gnu::format(printf, 2, 3)]] void append(std::string& out, const char* format, ...) {
  std::array<char, 512> text;
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (size > 0) out.append(text.data(), std::min<std::size_t>(size, text.size() - 1));
}

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string workload(const LoadPlan& plan) {
  std::string out;
  append(out, "%zu connections, ", plan.connections);
  append(out, plan.rate ? "at most %zu on their way on each, " : "%zu pipelined on each, ",
         plan.depth);
  append(out, "%s keys ", grouped(plan.keys.keys).c_str());
  if (plan.keys.distribution == Distribution::kZipf) {
    append(out, "by Zipf's law (exponent %g), ", plan.keys.zipf_exponent);
  } else {
    out += "uniformly, ";
  }
  append(out, "%zu client thread%s", plan.threads, plan.threads == 1 ? "" : "s");
  return out;
}

}  // namespace

std::string text_report(const std::string& what, const LoadPlan& plan, const LoadResult& result) {
  const Tally& tally = result.outcome.tally;
  std::string out = what + "\n" + workload(plan) + "\n\n";
  append(out, "requests   %s in %.2f s\n", grouped(tally.replies).c_str(), seconds(result.elapsed));
  append(out, "rate       %s req/s\n",
         grouped(static_cast<std::uint64_t>(result.per_second())).c_str());
  append(out, "decisions  %s allowed, %s denied\n", grouped(tally.allowed).c_str(),
         grouped(tally.denied).c_str());
  append(out, "errors     %s", grouped(result.errors()).c_str());
  if (result.errors() > 0) {
    append(out, " (%llu bad status, %llu connection lost, %llu no answer, %llu never sent)",
           Count{tally.failed}, Count{result.lost}, Count{result.unanswered}, Count{result.unsent});
  }
  out += "\nlatency    ";
  for (const Quantile& quantile : kQuantiles) {
    append(out, "%s %.3f ms  ", quantile.name, ms(result.outcome.latency.at(quantile.value)));
  }
  append(out, "max %.3f ms\n", ms(result.outcome.latency.max()));
  append(out, "client     %.0f %% of one CPU, %llu reconnects\n\n",
         100 * seconds(result.cpu) / std::max(seconds(result.elapsed), 1e-9),
         Count{result.reconnects});
  if (plan.rate) {
    append(out, "open loop at %.0f req/s: latencies count from when a request was due\n",
           *plan.rate);
  } else {
    out += "closed loop: latencies are service times\n";
  }
  return out;
}

std::string json_report(const LoadPlan& plan, const LoadResult& result) {
  const Tally& tally = result.outcome.tally;
  std::string out = "{";
  append(out, "\"loop\":\"%s\",", plan.rate ? "open" : "closed");
  append(out, "\"connections\":%zu,\"pipeline\":%zu,\"threads\":%zu,\"keys\":%lu,",
         plan.connections, plan.depth, plan.threads, static_cast<unsigned long>(plan.keys.keys));
  append(out, "\"elapsed_s\":%.6f,\"requests\":%llu,\"requests_per_s\":%.1f,",
         seconds(result.elapsed), Count{tally.replies}, result.per_second());
  append(out, "\"allowed\":%llu,\"denied\":%llu,\"errors\":%llu,", Count{tally.allowed},
         Count{tally.denied}, Count{result.errors()});
  append(out, "\"bad_status\":%llu,\"lost\":%llu,\"unanswered\":%llu,\"unsent\":%llu,",
         Count{tally.failed}, Count{result.lost}, Count{result.unanswered}, Count{result.unsent});
  append(out, "\"reconnects\":%llu,\"client_cpu_s\":%.6f,\"latency_ms\":{",
         Count{result.reconnects}, seconds(result.cpu));
  for (const Quantile& quantile : kQuantiles) {
    append(out, "\"%s\":%.6f,", quantile.name, ms(result.outcome.latency.at(quantile.value)));
  }
  append(out, "\"max\":%.6f}}\n", ms(result.outcome.latency.max()));
  return out;
}

}  // namespace weir::load
