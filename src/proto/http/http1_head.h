// The head of an HTTP/1 request: from its first byte to the empty line.
//
// parse_head() reads all that has arrived of a request and says what it is: not
// all there, wrong, or complete. It remembers nothing between calls, so how the bytes
// were split on their way cannot matter. Texts that two servers in a row might read differently are
// refused: a second Host, a transfer encoding that is not plainly "chunked", folded lines. Its
// tests and its fuzzer hold it against Boost.Beast, byte for byte.
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

inline constexpr std::size_t kHeadMax = 32 << 10;  // bytes: what proxies accept, and more
inline constexpr std::size_t kTargetMax = 16 << 10;

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };

Method method_from_name(std::string_view name);  // case counts

constexpr bool only_reads(Method method) {
  return method == Method::kGet || method == Method::kHead;
}

// The texts are parts of what was parsed.
struct RequestHead {
  std::size_t size = 0;  // bytes, the empty line included
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
  bool is_printable = false;  // each value is ASCII without tabs; false as well: nobody has looked

  bool operator==(const RequestHead&) const = default;
};

// Why a request is refused. Static text.
struct Refusal {
  int status = 0;  // of the reply: 400, 414, 417, 431, 501 or 505
  std::string_view detail;

  bool operator==(const Refusal&) const = default;
};

enum class HeadStatus : std::uint8_t { kNeedMore, kComplete, kRefused };

// `head` is set if the head is complete, and `fields` holds all header fields, in the order sent,
// values without the blanks around them. `refusal` is set if it is refused. Nothing is certain
// about a refused request, least of all where the next one starts.
HeadStatus parse_head(std::string_view arrived, RequestHead& head, std::vector<NameValue>& fields,
                      Refusal& refusal);

// Reads heads as parse_head() does, and one that it keeps by comparing bytes. Those who ask for
// checks send the same head each time, but for the length of a body. It keeps such heads alone.
class HeadReader {
 public:
  HeadStatus read(std::string_view arrived, Refusal& refusal);
  // Of the last complete head. The texts are valid until the next call.
  const RequestHead& head() const { return last_->head; }
  std::span<const NameValue> fields() const { return last_->fields; }

 private:
  struct Parts {
    RequestHead head;
    std::vector<NameValue> fields;
  };

  std::string kept_;  // empty: none
  Parts of_kept_;
  Parts parts_;
  const Parts* last_ = &parts_;
  unsigned others_ = 0;  // that it might have kept
};

// The head of a request whose parts another protocol, or another server, has taken apart.
RequestHead head_of(std::string_view method, std::string_view target,
                    std::span<const NameValue> fields);

}  // namespace weir::http1
