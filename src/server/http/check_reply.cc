#include "server/http/check_reply.h"

namespace weir {

void write_decision_json(TextWriter& writer, const CheckTerms& terms, const Decision& decision) {
  writer.put("{\"key\":").text(terms.key_json);
  if (decision.allowed()) {
    writer.put(",\"allowed\":true,\"remaining\":");
  } else {
    writer.put(",\"allowed\":false,\"remaining\":");
  }
  writer.number(decision.remaining);
  writer.put(",\"algorithm\":\"").text(algorithm_name(terms.quota.algorithm()));
  writer.put("\",\"retry_after\":");
  if (decision.verdict == Verdict::kNever) {
    writer.put("null");
  } else {
    writer.seconds(decision.retry_after);
  }
  writer.put(",\"backoff_level\":").number(static_cast<int>(decision.backoff_level));
  writer.put(",\"limit\":").number(decision.limit);
  writer.put(",\"reset_after\":").seconds(decision.reset_after).put("}");
}

Decision untouched(const Quota& quota) {
  return {.limit = quota.capacity(), .remaining = quota.capacity()};
}

}  // namespace weir
