// CL.THROTTLE of redis-cell and THROTTLE of throttlecrab.
//
// Both use the engine's token bucket, and so the counter of an HTTP check with the same key, limit
// = count, window = period and burst. One thing differs from redis-cell: a counter belongs to its
// period, too, so a key with two periods has two.

#include <array>
#include <optional>
#include <string>

#include "server/resp/commands.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

constexpr std::size_t kNumbersAt = 2;  // behind the name and the key

struct ThrottleNumbers {
  std::int64_t max_burst = 0;
  std::int64_t count = 0;
  std::int64_t period_s = 0;
  std::int64_t quantity = 1;
};

// The index of the first argument that is no integer, if there is one.
std::optional<std::size_t> read_numbers(std::span<const std::string_view> arguments,
                                        ThrottleNumbers& numbers) {
  const std::array<std::int64_t*, 4> targets = {&numbers.max_burst, &numbers.count,
                                                &numbers.period_s, &numbers.quantity};
  for (std::size_t i = kNumbersAt; i < arguments.size(); ++i) {
    if (!read_integer(arguments[i], *targets[i - kNumbersAt])) return i;
  }
  return std::nullopt;
}

// The error if Weir cannot enforce these numbers. `count`: the command's name for it.
std::optional<std::string> make_quota(std::int64_t capacity, const ThrottleNumbers& numbers,
                                      std::string_view count, Quota& quota) {
  constexpr std::int64_t kPeriodMaxS = kWindowMax / std::chrono::seconds(1);
  if (numbers.period_s > kPeriodMaxS) return "period: expected at most 366 days";
  // Less than the largest cost, so that a reply can say that a quantity is beyond any bucket.
  if (capacity >= kCostMax) return "max_burst: expected less than 999999999999";
  const auto made = Quota::make({.algorithm = Algorithm::kTokenBucket,
                                 .limit = numbers.count,
                                 .window = std::chrono::seconds(numbers.period_s),
                                 .burst = capacity});
  if (made) {
    quota = *made;
    return std::nullopt;
  }
  const std::string field(made.error().field == "burst" ? "max_burst" : count);
  return field + ": expected " + std::string(made.error().expected);
}

void queue_new(RespCore& core, RespRequest& request, const Quota& quota, std::int64_t quantity,
               ReplyForm form) {
  Throttle& throttle = core.new_throttle() = {
      .form = form, .ask = {.quota = quota, .cost = std::clamp(quantity, -kCostMax, kCostMax)}};
  request.is_last_throttle = true;
  throttle.ask.key = request.arguments[1];
  core.queue(request, throttle.ask, form);
}

// The number that makes what redis-cell calls a zero rate; empty if none does. redis-cell cannot
// keep a rate of more than one a nanosecond.
std::string_view zero_rate(const ThrottleNumbers& numbers) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  if (numbers.count <= 0) return "count: expected at least 1";
  if (numbers.period_s <= 0) return "period: expected at least 1";
  const bool is_faster =
      numbers.count / kNanoseconds > numbers.period_s ||
      (numbers.count / kNanoseconds == numbers.period_s && numbers.count % kNanoseconds > 0);
  return is_faster ? "count: expected at most 1000000000 for each second of the period" : "";
}

// A bucket that holds nothing denies everything but a look, and remembers nothing.
void reply_without_bucket(RespCore& core, const RespRequest& request, std::int64_t capacity,
                          std::int64_t quantity) {
  const std::array<std::int64_t, 5> numbers = {quantity > capacity ? 1 : 0, capacity, 0, -1, 0};
  core.reply(request).integers(numbers);
}

}  // namespace

void handle_cl_throttle(RespCore& core, RespRequest& request) {
  const auto& arguments = request.arguments;
  const auto refuse = [&](const std::string& why) {
    core.reply(request).error("Cell error: " + why);
  };
  if (arguments.size() != 5 && arguments.size() != 6) {
    return refuse("Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]");
  }
  ThrottleNumbers numbers;
  if (const auto wrong = read_numbers(arguments, numbers)) {
    return refuse("Couldn't parse as integer: " + std::string(arguments[*wrong].substr(0, 128)));
  }
  const std::string_view zero = zero_rate(numbers);
  if (!zero.empty()) return refuse("Zero rates are not supported: " + std::string(zero));
  if (numbers.max_burst < 0) {
    return reply_without_bucket(core, request, numbers.max_burst + 1, numbers.quantity);
  }
  const bool overflows = numbers.max_burst >= kCostMax;
  Quota quota;
  const auto wrong =
      make_quota(overflows ? kCostMax : numbers.max_burst + 1, numbers, "count", quota);
  if (wrong) return refuse(*wrong);
  queue_new(core, request, quota, numbers.quantity, ReplyForm::kCell);
}

void handle_throttle(RespCore& core, RespRequest& request) {
  constexpr std::array<std::string_view, 4> kNames = {"max_burst", "count_per_period", "period",
                                                      "quantity"};
  const auto& arguments = request.arguments;
  const auto refuse = [&](const std::string& why) { core.reply(request).error("ERR " + why); };
  if (arguments.size() > 6) return refuse("wrong number of arguments for 'throttle' command");
  ThrottleNumbers numbers;
  if (const auto wrong = read_numbers(arguments, numbers)) {
    return refuse("invalid " + std::string(kNames[*wrong - kNumbersAt]));
  }
  if (numbers.quantity < 0) {
    return refuse("negative quantity: " + std::to_string(numbers.quantity));
  }
  const std::array<std::int64_t, 3> at_least_one = {numbers.max_burst, numbers.count,
                                                    numbers.period_s};
  for (std::size_t i = 0; i < at_least_one.size(); ++i) {
    if (at_least_one[i] > 0) continue;
    return refuse("invalid rate limit parameters: " + std::string(kNames[i]) +
                  ": expected at least 1");
  }
  Quota quota;
  const auto wrong = make_quota(numbers.max_burst, numbers, "count_per_period", quota);
  if (wrong) return refuse(*wrong);
  queue_new(core, request, quota, numbers.quantity, ReplyForm::kThrottlecrab);
}

}  // namespace weir::resp
