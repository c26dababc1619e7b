// The head of an HTTP/1 request: from its first byte to the empty line.
//
// parse_head() reads all bytes of a request that have arrived, and says whether the head is
// incomplete, wrong or complete. It remembers nothing between calls, so it does not matter how the
// bytes were split on their way. It refuses texts that two servers in a row might read differently:
// a second Host, a transfer encoding that is not plainly "chunked", folded lines. Its tests and its
// fuzzer compare it with Boost.Beast, byte for byte.
//
// Thread rule: pure. Cost: 1,240 instructions for 98 bytes (docs/internals/adr/0001).
// Tested by http1_head_test.cc, fuzz/http1_head_fuzz.cc and fuzz/http_session_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"

namespace weir::http1 {

inline constexpr std::size_t kHeadMax = 32 << 10;  // bytes: at least what proxies accept
inline constexpr std::size_t kTargetMax = 16 << 10;

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };

Method method_from_name(std::string_view name);  // case matters

constexpr bool only_reads(Method method) {
  return method == Method::kGet || method == Method::kHead;
}

// The texts are parts of the parsed bytes.
struct RequestHead {
  std::size_t size = 0;  // bytes, with the empty line
  Method method = Method::kOther;
  std::string_view method_text;  // "GET"
  bool http_1_0 = false;
  bool keep_alive = true;
  bool chunked = false;
  bool expects_continue = false;
  std::uint64_t content_length = 0;
  std::string_view target;
  std::string_view host;
  std::string_view accept;
  std::string_view authorization;
  bool repeats_authorization = false;
  std::string_view origin;
  bool is_printable = false;  // each value is ASCII without tabs; false also if not checked

  bool operator==(const RequestHead&) const = default;
};

// Why a request is refused. The text is static.
struct Refusal {
  int status = 0;  // of the reply: 400, 414, 417, 431, 501 or 505
  std::string_view detail;

  bool operator==(const Refusal&) const = default;
};

enum class HeadStatus : std::uint8_t { kNeedMore, kComplete, kRefused };

// If the head is complete, sets `head`, and `fields` to all header fields, in the order sent, with
// values without the blanks around them. If the head is refused, sets `refusal`. Nothing is certain
// about a refused request, least of all where the next one starts.
HeadStatus parse_head(std::string_view arrived, RequestHead& head, std::vector<NameValue>& fields,
                      Refusal& refusal);

// Reads heads as parse_head() does. It keeps one head of a check, and reads an equal one by bytes:
// clients that ask for checks send the same head each time, except for a body's length.
class HeadReader {
 public:
  HeadStatus read(std::string_view arrived, Refusal& refusal);
  // The last complete head. Its texts are valid until the next call.
  const RequestHead& head() const { return last_->head; }
  std::span<const NameValue> fields() const { return last_->fields; }

 private:
  struct Parts {
    RequestHead head;
    std::vector<NameValue> fields;
  };

  std::string kept_;  // empty: no head is kept
  Parts of_kept_;
  Parts parts_;
  const Parts* last_ = &parts_;
  unsigned others_ = 0;  // heads that might have been kept
};

// The head of a request that came in parts, from another protocol or another server.
RequestHead head_of(std::string_view method, std::string_view target,
                    std::span<const NameValue> fields);

}  // namespace weir::http1
