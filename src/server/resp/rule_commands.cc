// WEIR.HIT, WEIR.CHARGE, WEIR.DRAIN, WEIR.LOOK, WEIR.RESET and WEIR.MHIT: checks by a rule of the
// configuration. WEIR.RESERVE and WEIR.COMMIT: costs that are known when the work is done.
// WEIR.ACQUIRE and WEIR.RELEASE: slots for work, of which only so much may be under way.

#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/duration_text.h"
#include "base/nearest_name.h"
#include "server/resp/commands.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

struct RuleCheck {
  std::string_view rule;
  std::string_view key;
  std::string_view cost = "1";
  bool acquires = false;
  std::int64_t cost_min = -kCostMax;
};

std::string unknown_rule(std::string_view id, const RuleSet& rules) {
  const std::string_view nearest = nearest_rule_id(rules, id);
  std::string error = "ERR no rule '" + std::string(id.substr(0, kNameLengthMax)) + "'";
  if (rules.rules().empty()) return error + "; there are no rules at all";
  return nearest.empty() ? error : error + "; did you mean '" + std::string(nearest) + "'?";
}

// False, and `error` says why, if this cannot be decided.
bool make_ask(RespCore& core, const RuleCheck& check, Ask& ask, std::string& error) {
  const Rule* const rule = core.rules().find(check.rule);
  if (rule == nullptr) {
    error = unknown_rule(check.rule, core.rules());
    return false;
  }
  if (rule->has_slots() && !check.acquires) {
    error = "ERR the rule '" + rule->id + "' has slots; take one with WEIR.ACQUIRE";
    return false;
  }
  std::int64_t cost = 0;
  if (!read_integer(check.cost, cost) || cost < check.cost_min || cost > kCostMax) {
    error =
        "ERR cost must be an integer from " + std::to_string(check.cost_min) + " to 1000000000000";
    return false;
  }
  ask = {.rule = rule, .key = check.key, .cost = cost};
  return true;
}

// False if the arguments are wrong: then this has answered.
bool make_single(RespCore& core, const RespRequest& request, Ask& ask) {
  const auto& arguments = request.arguments;
  RuleCheck check{.rule = arguments[1], .key = arguments[2]};
  if (arguments.size() > 3) check.cost = arguments[3];
  std::string error;
  if (arguments.size() > 4) {
    error = "ERR wrong number of arguments for '" + to_ascii_lower(arguments[0]) + "' command";
  } else if (make_ask(core, check, ask, error)) {
    return true;
  }
  core.reply(request).error(error);
  return false;
}

void decide_single(RespCore& core, const RespRequest& request, Operation operation) {
  Ask ask;
  if (!make_single(core, request, ask)) return;
  AsksPtr asks = core.begin_asks(request, operation);
  asks->add(ask);
  core.decide(std::move(asks), request, [](ReplyWriter& reply, const Asks& decided) {
    write_decision(reply, decided.answer(0).decision, ReplyForm::kWeir);
  });
}

void queue_single(RespCore& core, RespRequest& request, Ask::Counting counting) {
  Ask ask;
  if (!make_single(core, request, ask)) return;
  ask.counting = counting;
  core.queue(request, ask, ReplyForm::kWeir);
}

// Answers with the decision, and the token or null.
void hold_while_working(RespCore& core, const RespRequest& request, const RuleCheck& check,
                        std::string_view hold_text) {
  const auto refuse = [&](const std::string& why) { core.reply(request).error(why); };
  Ask ask;
  std::string error;
  if (!make_ask(core, check, ask, error)) return refuse(error);
  const auto of = check.acquires ? HoldOf::kSlot : HoldOf::kUnits;
  const auto length = hold_length(hold_text, ask, of, core.engine());
  if (!length) {
    const auto& [field, expected] = length.error();
    return refuse("ERR " + std::string(field) + " must be " + expected);
  }
  AsksPtr asks = core.begin_asks(request, Operation::kSpendEach);
  asks->add(ask);
  asks->holding().reserve(*length);
  core.decide(
      std::move(asks), request, [now = request.now](ReplyWriter& reply, const Asks& decided) {
        const Holding::Hold hold = decided.holding().hold(now);
        if (hold.is_too_many) {
          const std::string more =
              hold.wait > Duration{0} ? ", for " + rounded_duration(hold.wait) + " more" : "";
          return reply.error("TOOMANYHOLDS " + std::string(kTooManyHeld) + more);
        }
        reply.array(2);
        write_decision(reply, decided.answer(0).decision, ReplyForm::kWeir);
        hold.token.empty() ? reply.null() : reply.bulk(hold.token);
      });
}

void end_hold(RespCore& core, const RespRequest& request, AsksPtr asks) {
  using Commit = HoldingStore::Commit;
  core.decide(std::move(asks), request, [](ReplyWriter& reply, const Asks& decided) {
    const Commit said = decided.holding().committed();
    if (said == Commit::kUnknown) return reply.error("NOTOKEN " + std::string(kNoSuchHold));
    reply.integer(said == Commit::kCharged ? 1 : 0);
  });
}

}  // namespace

void handle_hit(RespCore& core, RespRequest& request) {
  queue_single(core, request, Ask::Counting::kAsTheRuleSays);
}

void handle_charge(RespCore& core, RespRequest& request) {
  queue_single(core, request, Ask::Counting::kAlways);
}

void handle_drain(RespCore& core, RespRequest& request) {
  queue_single(core, request, Ask::Counting::kOrWhatIsLeft);
}

void handle_look(RespCore& core, RespRequest& request) {
  decide_single(core, request, Operation::kLook);
}

void handle_reset_key(RespCore& core, RespRequest& request) {
  decide_single(core, request, Operation::kReset);
}

void handle_reserve(RespCore& core, RespRequest& request) {
  const auto& words = request.arguments;
  const RuleCheck check{.rule = words[1], .key = words[2], .cost = words[3], .cost_min = 1};
  hold_while_working(core, request, check, words[4]);
}

void handle_acquire(RespCore& core, RespRequest& request) {
  const auto& words = request.arguments;
  const RuleCheck check{.rule = words[1], .key = words[2], .acquires = true};
  hold_while_working(core, request, check, words[3]);
}

void handle_release(RespCore& core, RespRequest& request) {
  AsksPtr asks = core.begin_asks(request, Operation::kLook);
  asks->holding().release(request.arguments[1]);
  end_hold(core, request, std::move(asks));
}

void handle_commit(RespCore& core, RespRequest& request) {
  using Work = HoldingStore::Work;
  const auto& words = request.arguments;
  std::int64_t cost = 0;
  if (!read_integer(words[2], cost) || cost < 0 || cost > kCostMax) {
    return core.reply(request).error("ERR cost must be an integer from 0 to 1000000000000");
  }
  const bool goes_on = words.size() == 4 && equal_ignoring_case(words[3], "more");
  if (words.size() > 3 && !goes_on)
    return core.reply(request).error("ERR expected MORE, or nothing");
  AsksPtr asks = core.begin_asks(request, Operation::kLook);
  asks->holding().commit(words[1], cost, goes_on ? Work::kGoesOn : Work::kIsDone);
  end_hold(core, request, std::move(asks));
}

// All checks are read before any is charged.
void handle_hit_many(RespCore& core, RespRequest& request) {
  constexpr std::size_t kEach = 3;  // rule, key, cost
  const auto words = request.arguments.subspan(2);
  const bool all = equal_ignoring_case(request.arguments[1], "all");
  const auto refuse = [&](std::string_view why) { core.reply(request).error(why); };
  if (!all && !equal_ignoring_case(request.arguments[1], "each")) {
    return refuse("ERR expected ALL or EACH before the first rule");
  }
  const std::size_t count = words.size() / kEach;
  if (words.size() % kEach != 0 || count > Batch::kChargesMax) {
    return refuse("ERR expected rule, key and cost, for 1 to 16 keys");
  }
  AsksPtr asks = core.begin_asks(request, all ? Operation::kSpendAll : Operation::kSpendEach);
  for (std::size_t i = 0; i < count; ++i) {
    const auto check = words.subspan(i * kEach, kEach);
    Ask ask;
    std::string error;
    if (!make_ask(core, {.rule = check[0], .key = check[1], .cost = check[2]}, ask, error)) {
      return refuse(error);
    }
    if (!asks->add(ask)) return refuse("ERR these rules have more than 16 limits in all");
  }
  core.decide(std::move(asks), request, [](ReplyWriter& each, const Asks& decided) {
    each.array(decided.size());
    for (std::size_t i = 0; i < decided.size(); ++i) {
      write_decision(each, decided.answer(i).decision, ReplyForm::kWeir);
    }
  });
}

}  // namespace weir::resp
