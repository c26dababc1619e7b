#include "server/http/check/check_reply.h"

#include "proto/http/rate_limit_headers.h"

namespace weir {

void write_decision_json(TextWriter& writer, std::string_view key_json, const Answer& answer) {
  const Decision& decision = answer.decision;
  writer.put("{\"key\":").text(key_json);
  if (decision.allowed()) {
    writer.put(",\"allowed\":true,\"remaining\":");
  } else {
    writer.put(",\"allowed\":false,\"remaining\":");
  }
  writer.number(decision.remaining);
  writer.put(",\"algorithm\":\"").text(algorithm_name(answer.quota.active()));
  writer.put("\",\"retry_after\":");
  if (decision.verdict == Verdict::kNever) {
    writer.put("null");
  } else {
    writer.seconds(wait_of(decision));
  }
  writer.put(",\"backoff_level\":").number(static_cast<int>(decision.backoff_level));
  writer.put(",\"limit\":").number(decision.limit);
  writer.put(",\"reset_after\":").seconds(decision.reset_after);
  if (answer.is_alone) writer.put(",\"mode\":\"local\"");
  if (answer.over && decision.allowed()) writer.put(",\"shadow\":true");
  writer.put("}");
}

}  // namespace weir
