// Feeds bytes to parse_head() and to Boost.Beast, which read heads before it: they say the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "proto/http/beast_head_testing.h"
#include "proto/http/http1_head.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::http1;
  // In memory of its own, so that reading behind it is noticed.
  const std::vector<char> bytes(data, data + std::min(size, kHeadMax));
  const std::string_view arrived(bytes.data(), bytes.size());
  RequestHead head;
  RequestHead judged;
  Refusal refusal;
  Refusal judgement;
  std::vector<NameValue> fields;
  const HeadStatus status = parse_head(arrived, head, fields, refusal);
  const HeadStatus judged_status = judge_by_beast(arrived, judged, judgement);
  if (refusal.detail == "A header field is folded.") {
    WEIR_ASSERT(judged_status != HeadStatus::kComplete);
    return 0;
  }
  WEIR_ASSERT(status == judged_status);
  WEIR_ASSERT(refusal == judgement);
  WEIR_ASSERT(status != HeadStatus::kComplete || head == judged);
  return 0;
}
