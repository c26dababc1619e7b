// MULTI, EXEC, DISCARD, WATCH, UNWATCH and WEIR.ATOMIC: words and order of checks as in Redis 7.
//
// Redis finds mistakes in a command's arguments at EXEC, when earlier commands have been carried
// out. A check would then have been charged for nothing, so Weir tries checks when they are queued.

#include <memory>
#include <string>
#include <utility>

#include "server/resp/commands.h"
#include "server/resp/handlers.h"
#include "server/resp/rehearsal.h"

namespace weir::resp {
namespace {

// EXEC's answer if a command is wrong.
std::string discarded(std::string_view error) {
  constexpr std::string_view kCode = "ERR ";
  if (error.starts_with(kCode)) error.remove_prefix(kCode.size());
  return "EXECABORT Transaction discarded because of: " + std::string(error);
}

// Tries the check on a connection that only `rehearsal` hears.
void rehearse(RespCore& core, const RespRequest& request, const Command& command,
              Rehearsal& rehearsal) {
  RespRequest tried{.client = request.client,
                    .arguments = request.arguments,
                    .line = rehearsal,
                    .now = request.now,
                    .rehearsal = &rehearsal};
  command.handle(core, tried);
}

// Why this command cannot be queued; empty if it can.
std::string queue_error(RespCore& core, const RespRequest& request, const Command& command) {
  Rehearsal rehearsal;
  if (command.key_at != 0) rehearse(core, request, command, rehearsal);
  std::string error = rehearsal.error();
  if (!error.empty()) return error;
  Transaction& transaction = *request.client.transaction;
  if (transaction.is_atomic() && !rehearsal.is_single()) {
    return "ERR WEIR.ATOMIC takes WEIR.HIT, WEIR.CHARGE, WEIR.DRAIN, THROTTLE and CL.THROTTLE "
           "only";
  }
  if (transaction.is_atomic() && transaction.size() == Batch::kChargesMax) {
    return "ERR WEIR.ATOMIC takes at most 16 checks";
  }
  if (transaction.add(request.arguments)) return {};
  return "ERR a transaction holds at most 1024 commands of 1 MiB in all";
}

void spoil_with(RespCore& core, const RespRequest& request, std::string_view error) {
  if (request.client.queues()) request.client.transaction->spoil();
  core.reply(request).error(error);
}

// One batch: all limits hold, or nothing is charged.
void execute_together(RespCore& core, const RespRequest& request, Transaction& transaction) {
  Rehearsal::Together together{.asks = core.begin_asks(request, Operation::kSpendAll)};
  for (; !transaction.empty(); transaction.pop()) {
    Rehearsal rehearsal(&together);
    RespRequest check = request;
    check.arguments = transaction.front(core.arguments());
    rehearse(core, check, *find_command(check.arguments).command, rehearsal);
    const std::string error = rehearsal.error();  // rules may have changed
    if (!error.empty()) {
      return core.reply(request).error(discarded(error));
    }
  }
  core.decide(std::move(together.asks), request,
              [forms = std::move(together.forms)](ReplyWriter& reply, const Asks& decided) {
                reply.array(1 + decided.size());
                reply.status("OK");  // to WEIR.ATOMIC
                for (std::size_t i = 0; i < decided.size(); ++i) {
                  write_decision(reply, decided.answer(i).decision, forms[i]);
                }
              });
}

}  // namespace

void queue_command(RespCore& core, const RespRequest& request, const Command& command) {
  const std::string error = queue_error(core, request, command);
  if (!error.empty()) return spoil_with(core, request, error);
  core.reply(request).status("QUEUED");
}

void refuse(RespCore& core, const RespRequest& request, const Lookup& found,
            std::string_view error) {
  const bool is_exec = found.command != nullptr && found.command->handle == handle_exec;
  if (!is_exec) return spoil_with(core, request, error);
  request.client.transaction.reset();
  core.reply(request).error(discarded(error));
}

void handle_multi(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  if (request.client.transaction != nullptr)
    return reply.error("ERR MULTI calls can not be nested");
  request.client.transaction = std::make_unique<Transaction>();
  reply.status("OK");
}

void handle_exec(RespCore& core, RespRequest& request) {
  auto& transaction = request.client.transaction;
  if (transaction == nullptr) return core.reply(request).error("ERR EXEC without MULTI");
  if (transaction->is_spoilt()) {
    transaction.reset();
    return core.reply(request).error("EXECABORT Transaction discarded because of previous errors.");
  }
  if (transaction->is_atomic()) {
    const auto atomic = std::move(transaction);
    return execute_together(core, request, *atomic);
  }
  core.reply(request).array(transaction->size());
  transaction->run();
  if (transaction->empty()) transaction.reset();
}

void handle_discard(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  if (request.client.transaction == nullptr) return reply.error("ERR DISCARD without MULTI");
  request.client.transaction.reset();
  reply.status("OK");
}

// An OK would promise that EXEC does nothing if a key has changed: checks cannot keep that.
void handle_watch(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  if (request.client.transaction != nullptr) {
    return reply.error("ERR WATCH inside MULTI is not allowed");
  }
  reply.error("ERR WATCH is not supported: WEIR.ATOMIC behind MULTI charges all or nothing");
}

void handle_unwatch(RespCore& core, RespRequest& request) { core.reply(request).status("OK"); }

void handle_atomic(RespCore& core, RespRequest& request) {
  Transaction* const transaction = request.client.transaction.get();
  if (transaction == nullptr) return core.reply(request).error("ERR WEIR.ATOMIC without MULTI");
  if (transaction->is_atomic() || !transaction->empty()) {
    return spoil_with(core, request, "ERR WEIR.ATOMIC has to be the first command behind MULTI");
  }
  transaction->make_atomic();
  core.reply(request).status("QUEUED");
}

}  // namespace weir::resp
