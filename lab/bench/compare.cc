// weir-bench compare: each algorithm in memory and in a Redis, side by side.
//
// The stores of `weir serve` decide the requests, without a door, so that the table is about
// counting and not about a protocol. Nothing refills while it runs: every algorithm has to allow
// exactly the limit.

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bench/commands.h"
#include "load/histogram.h"
#include "net/loop/event_loop.h"
#include "net/socket_dialer.h"
#include "proto/json_writer.h"
#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"
#include "store/redis/strict/redis_store.h"
#include "weir/clock.h"
#include "weir/key.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kRequests = 1'000;
constexpr std::int64_t kLimit = 100;
constexpr std::size_t kAtOnce = 16;
// Long enough that no key earns anything back meanwhile.
constexpr Duration kWindow = std::chrono::hours(24 * 7);
constexpr std::array kAlgorithms{Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                 Algorithm::kSlidingWindow, Algorithm::kTokenBucket,
                                 Algorithm::kExponentialBackoff};
constexpr Duration kConnectingMax = std::chrono::seconds(5);
// Patient: a slow Redis is measured, not failed.
constexpr Duration kDeadline = std::chrono::seconds(1);
constexpr int kExitWrong = 1;

struct Outcome {
  std::uint64_t allowed = 0;
  std::uint64_t blocked = 0;
  std::uint64_t failed = 0;
  load::Nanoseconds duration{0};
  load::Histogram latency;
};

// Sends kRequests with one key to a store, of which kAtOnce are under way at any time.
class Run {
 public:
  // All must outlive the run.
  Run(Store& store, EventLoop& loop, const Charge& charge)
      : store_(store), loop_(loop), charge_(charge) {
    for (auto& request : requests_) idle_[idle_count_++] = &request;
  }

  Outcome measure() {
    const auto started = SteadyClock::now();
    send();
    while (outcome_.latency.count() < kRequests) {
      loop_.turn(Duration::max());
      send();
    }
    outcome_.duration = SteadyClock::now() - started;
    return std::move(outcome_);
  }

 private:
  struct Request {
    Decision decision;
    Batch batch;
    SteadyClock::time_point sent;
    Run* run = nullptr;
  };

  // Memory answers within decide(), a Redis in a later turn of the loop.
  void send() {
    while (idle_count_ > 0 && sent_ < kRequests) {
      Request& request = *idle_[--idle_count_];
      ++sent_;
      request.run = this;
      request.batch = {.charges = {&charge_, 1},
                       .decisions = {&request.decision, 1},
                       .on_done =
                           [](Batch& batch) noexcept {
                             auto& done = *static_cast<Request*>(batch.context);
                             done.run->take(done);
                           },
                       .context = &request};
      request.sent = SteadyClock::now();
      store_.decide(request.batch, loop_.now());
    }
  }

  void take(Request& request) {
    outcome_.latency.record(SteadyClock::now() - request.sent);
    if (request.batch.error != StoreError::kNone) {
      ++outcome_.failed;
    } else {
      ++(request.decision.allowed() ? outcome_.allowed : outcome_.blocked);
    }
    idle_[idle_count_++] = &request;
  }

  Store& store_;
  EventLoop& loop_;
  const Charge charge_;
  std::array<Request, kAtOnce> requests_;
  std::array<Request*, kAtOnce> idle_{};
  std::size_t idle_count_ = 0;
  std::uint64_t sent_ = 0;
  Outcome outcome_;
};

void remove_key(Store& store, EventLoop& loop, const Charge& charge) {
  Decision decision;
  bool is_done = false;
  auto reset =
      Batch{.operation = Operation::kReset,
            .charges = {&charge, 1},
            .decisions = {&decision, 1},
            .on_done = [](Batch& batch) noexcept { *static_cast<bool*>(batch.context) = true; },
            .context = &is_done};
  store.decide(reset, loop.now());
  while (!is_done) loop.turn(Duration::max());
}

void print_head(const RedisUrl& url) {
  fmt::print("{} requests against a limit of {}, {} at once, by one core; redis is {}\n\n",
             kRequests, kLimit, kAtOnce, url.to_string());
  fmt::print("{:<20} {:<7} {:>7} {:>7} {:>6} {:>5} {:>11} {:>10} {:>8} {:>8} {:>8}\n", "algorithm",
             "store", "allowed", "blocked", "failed", "asked", "duration ms", "requests/s",
             "p50 us", "p95 us", "p99 us");
}

double micros(const Outcome& outcome, double quantile) {
  return static_cast<double>(outcome.latency.at(quantile).count()) / 1e3;
}

void print_row(const char* store, Algorithm algorithm, const Outcome& outcome,
               std::uint64_t asked) {
  const auto seconds = std::chrono::duration<double>(outcome.duration).count();
  fmt::print(
      "{:<20} {:<7} {:>7} {:>7} {:>6} {:>5} {:>11.2f} {:>10.0f} {:>8.2f} {:>8.2f} {:>8.2f}\n",
      algorithm_name(algorithm), store, outcome.allowed, outcome.blocked, outcome.failed, asked,
      seconds * 1e3, static_cast<double>(kRequests) / seconds, micros(outcome, 0.5),
      micros(outcome, 0.95), micros(outcome, 0.99));
}

void print_json(const char* store, Algorithm algorithm, const Outcome& outcome,
                std::uint64_t asked) {
  JsonWriter json;
  json.begin_object().field("algorithm", algorithm_name(algorithm)).field("store", store);
  json.field("allowed", outcome.allowed).field("blocked", outcome.blocked);
  json.field("failed", outcome.failed).field("asked", asked);
  json.field("duration_s", std::chrono::duration<double>(outcome.duration).count());
  json.key("latency_us").begin_object().field("p50", micros(outcome, 0.5));
  json.field("p95", micros(outcome, 0.95)).field("p99", micros(outcome, 0.99)).end_object();
  fmt::print("{}\n", json.end_object().text());
}

// Does all runs, one after the other on one loop, once it is connected to the Redis.
class Comparison final : RedisListener {
 public:
  Comparison(const RedisUrl& url, bool is_json)
      : url_(url),
        is_json_(is_json),
        client_(make_redis_client(url, {.reactor = loop_, .dialer = dialer_, .seed = 1}, *this,
                                  loop_.now())),
        sender_({.deadline = kDeadline,
                 .spread = url.topology == RedisUrl::Topology::kCluster ? KeySpread::kCluster
                                                                        : KeySpread::kOneServer},
                *client_, loop_, *this),
        redis_({.deadline = kDeadline}, sender_) {}

  // Empty, or what went wrong.
  std::string run() {
    auto trust = TlsTrust::load(url_.tls);
    if (!trust) return trust.error().message;
    dialer_.use_tls(*std::move(trust));
    if (!connect()) {
      const auto& why = client_->state().reason;
      return fmt::format("{} cannot be used: {}", url_.to_string(),
                         why.empty() ? "it does not answer" : why);
    }
    if (!is_json_) print_head(url_);
    for (const Algorithm algorithm : kAlgorithms) {
      compare("memory", *memory_, algorithm);
      compare("redis", redis_, algorithm);
    }
    if (!is_json_) {
      fmt::print("\nasked: requests that Redis decided. This process remembers its denials.\n");
    }
    return error_;
  }

 private:
  void redis_changed(const LinkState&, Instant) override {}
  void redis_failed(RedisFailure failure, std::string_view detail, Instant) override {
    error_ = fmt::format("{}: {}", failure_name(failure), detail);
  }

  bool connect() {
    const Instant end = loop_.now() + kConnectingMax;
    while (client_->state().phase != LinkState::Phase::kConnected) {
      if (loop_.now() >= end) return false;
      loop_.turn(end - loop_.now());
    }
    return true;
  }

  void compare(const char* name, Store& store, Algorithm algorithm) {
    const Quota quota = *Quota::make({.algorithm = algorithm, .limit = kLimit, .window = kWindow});
    const KeyHash key = hasher_.hash({.rule = "", .bucket = "compare", .key = "one"}, quota);
    const Charge charge{.key = key, .quota = &quota};
    const std::uint64_t asked_before = sender_.counts().charges;
    const Outcome outcome = Run(store, loop_, charge).measure();
    const auto print = is_json_ ? print_json : print_row;
    print(name, algorithm, outcome, sender_.counts().charges - asked_before);
    if (outcome.failed == 0 && outcome.allowed != static_cast<std::uint64_t>(kLimit)) {
      error_ = fmt::format("{} allowed {} instead of {}", algorithm_name(algorithm),
                           outcome.allowed, kLimit);
    }
    remove_key(store, loop_, charge);
  }

  const RedisUrl& url_;
  const bool is_json_;
  const SystemClock clock_;
  EventLoop loop_{clock_};
  SocketDialer dialer_{loop_};
  // With its own secret, no other program has its keys.
  const KeyHasher hasher_{HashSecret::random()};
  const std::unique_ptr<Store> memory_ = make_memory_store({.max_keys = 1'024}, loop_.now());
  std::unique_ptr<RedisClient> client_;
  RedisSender sender_;
  RedisStore redis_;
  std::string error_;
};

void compare(const std::string& url_text, bool is_json) {
  std::signal(SIGPIPE, SIG_IGN);  // a Redis that goes must look like a missing answer
  auto parsed = RedisUrl::parse(url_text);
  const std::string error = parsed ? Comparison(*parsed, is_json).run() : parsed.error().message;
  if (error.empty()) return;
  fmt::print(stderr, "weir-bench compare: {}\n", error);
  throw CLI::RuntimeError(kExitWrong);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compare", "Try each algorithm in memory and in a Redis: what is allowed, how fast");
  const auto url = std::make_shared<std::string>();
  const auto is_json = std::make_shared<bool>(false);
  command->add_option("--redis", *url, "Which Redis, as in redis://127.0.0.1:6379")->required();
  command->add_flag("--json", *is_json, "Print a line of JSON for each algorithm and store");
  command->callback([url, is_json] { compare(*url, *is_json); });
}

}  // namespace weir
