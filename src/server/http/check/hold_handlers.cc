// The handlers of /v1/reserve and /v1/commit: units are held while work is under way, and charged
// when its cost is known. Also of /v1/acquire and /v1/release: so much work may be under way at
// once (weir/holding_store.h).

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proto/json_writer.h"
#include "rules/slots.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/check_reply.h"
#include "server/http/check/check_routes.h"
#include "server/http/check/json_body.h"
#include "server/http/http_core.h"
#include "weir/holding_store.h"

namespace weir {
namespace {

Problem unknown_token() {
  return {.kind = ProblemKind::kUnknownToken,
          .status = 404,
          .detail = "Nothing has changed: " + std::string(kNoSuchHold) + '.',
          .field = "token",
          .expected = "the token of a hold that goes on"};
}

// `wait`: until there may be room; 0: unknown.
void write_too_many(HttpCore& core, const Recipient& to, Duration wait) {
  const Problem problem{.kind = ProblemKind::kTooManyHolds,
                        .status = 429,
                        .detail = "Nothing is charged: " + std::string(kTooManyHeld) + '.'};
  const std::string seconds = std::to_string(whole_seconds(wait));
  const std::array<NameValue, 2> fields = {{kNoStore[0], {"Retry-After", seconds}}};
  core.write_problem(to, problem, std::span(fields).first(wait > Duration{0} ? 2 : 1));
}

// The ask to hold, and for how long. It refers to the body, and to the rule set or `own`.
struct HoldAsk {
  HoldOf of;
  Ask ask{};
  std::string_view how_long{};
  std::shared_ptr<const Rule> own{};  // stands for a quota that the caller names
};

// Makes a rule for the quota, which has none.
std::optional<Problem> read_quota(const Engine& engine, HoldAsk& wanted) {
  Ask& ask = wanted.ask;
  const Mode mode = engine.mode_for(ask.mode);
  // A mode that the caller writes is refused without Redis, too, as a rule's is.
  const std::string_view why_not = why_not_held(ask.mode.value_or(mode));
  for (const auto& [field, why] :
       {NameValue{"algorithm", why_not_held(ask.quota)}, NameValue{"mode", why_not}}) {
    if (why.empty()) continue;
    Problem problem = invalid_field(field, "one that can hold units");
    problem.detail = std::string(field) + ": a reservation " + std::string(why) + '.';
    return problem;
  }
  wanted.own = ruleless_holds(ask.quota, mode);
  ask.rule = wanted.own.get();
  return std::nullopt;
}

std::optional<Problem> read_reserve(CheckReader& reader, const RequestBody& body,
                                    const HttpCore& core, HoldAsk& wanted) {
  if (!reader.read_reserve(body, wanted.how_long)) return reader.problem();
  Ask& ask = wanted.ask;
  Problem problem;
  if (!make_ask(reader.body().checks[0], core.rules(), ask, problem)) return problem;
  return ask.rule != nullptr ? std::nullopt : read_quota(core.engine(), wanted);
}

// The answer of a check, and the fields that name the hold if there is one.
void write_reserved(HttpCore& core, const Recipient& to, const Asks& asks, std::string_view token) {
  const std::string_view key = asks.ask(0).echo;  // as it was sent
  std::string text(kDecisionJsonMax + key.size(), '\0');
  TextWriter writer(text.data(), text.size());
  write_decision_json(writer, key, asks.answer(0));
  text.resize(static_cast<std::size_t>(writer.end() - text.data()));
  if (!token.empty()) {
    text.pop_back();
    text.append(R"(,"token":")").append(token).append("\"}");
  }
  RateLimit limit = core.voice().say_one(asks, 0, to.now);
  if (is_ruleless(*asks.ask(0).rule)) limit.policy.name = "default";  // as of checks
  core.write(to, {.limit = &limit, .fields = kNoStore, .body = text});
}

// Calls `write` with the answer, and the token if there is one.
template <typename Write>
void hold_while_working(HttpCore& core, const Exchange& exchange, const HoldAsk& wanted,
                        Write write) {
  const auto length = hold_length(wanted.how_long, wanted.ask, wanted.of, core.engine());
  if (!length) {
    const auto& [field, expected] = length.error();
    return core.reply_problem(exchange, invalid_field(field, expected));
  }
  AsksPtr asks = core.begin_asks(exchange, Operation::kSpendEach);
  asks->add(wanted.ask);
  if (wanted.own != nullptr) asks->keep_rule(wanted.own);
  asks->holding().reserve(*length);
  core.decide(std::move(asks), exchange, [&core, write](const Recipient& to, const Asks& decided) {
    const Holding::Hold hold = decided.holding().hold(to.now);
    if (hold.is_too_many) return write_too_many(core, to, hold.wait);
    write(core, to, decided, hold.token);
  });
}

void reserve(HttpCore& core, CheckReader& reader, const Exchange& exchange) {
  HoldAsk wanted{.of = HoldOf::kUnits};
  if (const auto problem = read_reserve(reader, exchange.body, core, wanted)) {
    return core.reply_problem(exchange, *problem);
  }
  hold_while_working(core, exchange, wanted, write_reserved);
}

void commit(HttpCore& core, const Exchange& exchange) {
  using Commit = HoldingStore::Commit;
  JsonBody body(exchange.body.view(), {"token", "cost", "more"});
  const std::string_view token = body.text("token");
  const auto cost = static_cast<std::int64_t>(body.number("cost", 0, kCostMax));
  const auto work = body.flag("more") ? HoldingStore::Work::kGoesOn : HoldingStore::Work::kIsDone;
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  AsksPtr asks = core.begin_asks(exchange, Operation::kLook);
  asks->holding().commit(token, cost, work);
  core.decide(std::move(asks), exchange, [&core, cost](const Recipient& to, const Asks& decided) {
    const Commit said = decided.holding().committed();
    if (said == Commit::kUnknown) return core.write_problem(to, unknown_token());
    JsonWriter json;
    json.begin_object().field("cost", cost);
    json.field("charged", said == Commit::kCharged).end_object();
    core.write(to, {.fields = kNoStore, .body = json.text()});
  });
}

// nullopt if the body names a limit, and no rule.
std::optional<std::string_view> read_rule(JsonBody& body, Ask& ask) {
  if (!body.has("limit")) return body.text("rule", "the id of a rule, or 'limit' in its place");
  const std::uint64_t limit = body.number("limit", 0);
  if (limit > static_cast<std::uint64_t>(kSlotsMax)) {
    body.reject("limit", "at most " + std::to_string(kSlotsMax));
  } else if (body.has("rule")) {
    body.reject("limit", "nothing, next to a rule");
  } else {
    ask.rule = &ruleless_slots(static_cast<std::int64_t>(limit));
  }
  return std::nullopt;
}

std::optional<Problem> read_acquire(JsonBody& body, const HttpCore& core, HoldAsk& wanted) {
  Ask& ask = wanted.ask;
  ask.key = body.text("key");
  ask.bucket = body.text_or("bucket", {});
  const auto rule = read_rule(body, ask);
  for (const auto& [field, text] : {NameValue{"key", ask.key}, NameValue{"bucket", ask.bucket}}) {
    if (text.size() > kKeyMax) body.reject(field, "a text of at most 4096 bytes");
  }
  wanted.how_long = body.text("hold", kHoldExpected);
  if (body.problem()) return body.problem();
  if (rule) ask.rule = core.rules().find(*rule);
  if (ask.rule == nullptr) return unknown_rule(*rule, core.rules());
  return std::nullopt;
}

void write_acquired(HttpCore& core, const Recipient& to, const Asks& asks, std::string_view token) {
  const Answer& answer = asks.answer(0);
  const Decision& decision = answer.decision;
  JsonWriter json;
  json.begin_object().field("key", asks.ask(0).key).field("allowed", answer.allowed());
  json.field("limit", decision.limit).field("remaining", decision.remaining);
  const bool never_fits = !decision.allowed() && decision.retry_after <= Duration{0};
  json.key("retry_after");
  never_fits ? json.null() : json.seconds(decision.retry_after);
  if (answer.is_alone) json.field("mode", "local");
  if (answer.over && answer.allowed()) json.field("shadow", true);
  if (!token.empty()) json.field("token", token);
  json.end_object();
  core.write(to, {.fields = kNoStore, .body = json.text()});
}

void acquire(HttpCore& core, const Exchange& exchange) {
  JsonBody body(exchange.body.view(), {"key", "bucket", "rule", "limit", "hold"});
  HoldAsk wanted{.of = HoldOf::kSlot};
  if (const auto problem = read_acquire(body, core, wanted)) {
    return core.reply_problem(exchange, *problem);
  }
  hold_while_working(core, exchange, wanted, write_acquired);
}

void release(HttpCore& core, const Exchange& exchange) {
  JsonBody body(exchange.body.view(), {"token"});
  const std::string_view token = body.text("token");
  if (body.problem()) return core.reply_problem(exchange, *body.problem());
  AsksPtr asks = core.begin_asks(exchange, Operation::kLook);
  asks->holding().release(token);
  core.decide(std::move(asks), exchange, [&core](const Recipient& to, const Asks& decided) {
    if (decided.holding().committed() == HoldingStore::Commit::kUnknown) {
      return core.write_problem(to, unknown_token());
    }
    core.write(to, {.fields = kNoStore, .body = R"({"released":true})"});
  });
}

}  // namespace

void add_hold_routes(HttpCore& core, std::shared_ptr<CheckReader> reader) {
  using enum http1::Method;
  const auto add = [&core](std::string_view path, auto handle) {
    core.routes().add({{kPost}, path, RouteAccess::kAnybody, handle});
  };
  add("/v1/reserve",
      [&core, reader](const Exchange& exchange) { reserve(core, *reader, exchange); });
  add("/v1/commit", [&core](const Exchange& exchange) { commit(core, exchange); });
  add("/v1/acquire", [&core](const Exchange& exchange) { acquire(core, exchange); });
  add("/v1/release", [&core](const Exchange& exchange) { release(core, exchange); });
}

}  // namespace weir
