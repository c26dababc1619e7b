// The handlers that decide: one check, several, a look, a reset.

#include <algorithm>
#include <string>

#include "server/http/check_reply.h"
#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

// The terms of the single check in the body; null if the request has been refused.
bool read_single(HttpCore& core, Exchange& exchange, CheckForm form, CheckTerms& terms) {
  CheckReader& reader = core.reader();
  if (!reader.read(exchange.body, form)) {
    core.reply_problem(exchange, reader.problem());
    return false;
  }
  if (reader.body().is_list) return true;
  Problem problem;
  if (!make_terms(reader.body().checks[0], core.rules(), core.engine(), terms, problem)) {
    core.reply_problem(exchange, problem);
    return false;
  }
  return true;
}

}  // namespace

void handle_check(HttpCore& core, Exchange& exchange) {
  CheckTerms terms;
  if (read_single(core, exchange, CheckForm::kSingle, terms)) core.queue(exchange, terms);
}

}  // namespace weir
