#include "proto/http/http1_head.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/ascii.h"
#include "base/byte_search.h"
#include "base/decimal.h"
#include "proto/http/host.h"

namespace weir::http1 {
namespace {

// A longer head is only read when it is complete.
constexpr std::size_t kEagerMax = 8 << 10;

constexpr Refusal kMalformed{400, "The request is not well-formed HTTP/1.1."};
constexpr Refusal kTargetTooLong{414, "The request target is longer than 16 KiB."};
constexpr Refusal kHeadTooLong{431, "The request line and header fields exceed 32 KiB."};
constexpr Refusal kBadLength{
    400, "Content-Length or Transfer-Encoding is malformed, repeated, or both are there."};

// RFC 9110, 5.6.2: characters of methods and field names.
constexpr auto kIsOfToken = [] {
  std::array<bool, 256> is{};
  for (unsigned char c = '!'; c < 0x7f; ++c) is[c] = true;
  for (const char c : std::string_view("\"(),/:;<=>?@[\\]{}"))
    is[static_cast<unsigned char>(c)] = false;
  return is;
}();

const char* token_end(const char* at, const char* end) {
  // Nearly all characters of names are letters and hyphens.
  at = find_byte(at, end, [](ByteGroup bytes) {
    const ByteGroup letters = (bytes | 0x20) - 'a';
    return (letters >= 26) & (bytes != '-');
  });
  while (at != end && kIsOfToken[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

// The first byte below kLeast, or the first DEL.
template <unsigned char kLeast>
const char* find_control(const char* at, const char* end) {
  return find_byte(at, end, [](ByteGroup bytes) { return (bytes < kLeast) | (bytes == 0x7f); });
}

constexpr auto kUnprintable = [](ByteGroup bytes) { return (bytes < ' ') | (bytes >= 0x7f); };

// Reads a head line by line, and the fields that matter here. A step that is not complete ends the
// reading.
class Reading {
 public:
  Reading(std::string_view arrived, RequestHead& head, std::vector<NameValue>& fields)
      : begin_(arrived.data()), end_(begin_ + arrived.size()), head_(head), fields_(fields) {}

  const Refusal& refusal() const { return refusal_; }

  HeadStatus read() {
    head_.is_printable = true;
    HeadStatus status = read_request();
    for (NameValue field; status == HeadStatus::kComplete && (at_ == end_ || *at_ != '\r');) {
      status = read_field(field);
      if (status != HeadStatus::kComplete) break;
      fields_.push_back(field);
      status = take(field.name, field.value);
    }
    if (status == HeadStatus::kComplete) status = end_line();
    return status == HeadStatus::kComplete ? finish() : status;
  }

 private:
  HeadStatus read_request() {
    constexpr std::ptrdiff_t kVersionSize = 8;
    const char* const method_end = token_end(at_, end_);
    if (method_end == end_) return HeadStatus::kNeedMore;
    if (method_end == at_ || *method_end != ' ') return refuse(kMalformed);
    const char* const target = method_end + 1;
    const char* const target_end = find_control<' ' + 1>(target, end_);
    if (target_end == end_) return HeadStatus::kNeedMore;
    if (target_end == target || *target_end != ' ') return refuse(kMalformed);
    const char* const version = target_end + 1;
    if (end_ - version < kVersionSize) return HeadStatus::kNeedMore;
    head_.http_1_0 = std::memcmp(version, "HTTP/1.0", kVersionSize) == 0;
    const bool is_known = head_.http_1_0 || std::memcmp(version, "HTTP/1.1", kVersionSize) == 0;
    if (!is_known) return refuse_version({version, kVersionSize});
    if (end_ - version < kVersionSize + 2) return HeadStatus::kNeedMore;
    head_.method_text = {at_, method_end};
    head_.target = {target, target_end};
    at_ = version + kVersionSize;
    const HeadStatus line = end_line();
    if (line != HeadStatus::kComplete) return line;
    return head_.target.size() > kTargetMax ? refuse(kTargetTooLong) : line;
  }

  HeadStatus read_field(NameValue& field) {
    if (end_ - at_ < 2) return HeadStatus::kNeedMore;
    const char* const colon = token_end(at_, end_);
    if (colon == end_) return HeadStatus::kNeedMore;
    if (colon == at_ || *colon != ':') return refuse(kMalformed);
    const char* value_end = find_byte(colon + 1, end_, kUnprintable);
    const bool is_odd = value_end != end_ && *value_end != '\r';
    if (is_odd) value_end = end_of_value(value_end);
    const char* value = colon + 1;
    if (value != value_end && *value == ' ') ++value;  // as nearly all values have
    field = {.name = {at_, colon}, .value = trim_blanks({value, value_end})};
    if (is_odd) head_.is_printable = head_.is_printable && !has_byte(field.value, kUnprintable);
    at_ = value_end;
    const HeadStatus line = end_line();
    if (line != HeadStatus::kComplete) return line;
    if (at_ == end_) return HeadStatus::kNeedMore;
    const bool is_folded = *at_ == ' ' || *at_ == '\t';
    return is_folded ? refuse({400, "A header field is folded."}) : line;
  }

  // Tabs and bytes beyond ASCII do not end a value.
  const char* end_of_value(const char* at) const {
    at = find_control<' '>(at, end_);
    while (at != end_ && *at == '\t') at = find_control<' '>(at + 1, end_);
    return at;
  }

  HeadStatus end_line() {
    if (at_ == end_) return HeadStatus::kNeedMore;
    if (*at_ != '\r') return refuse(kMalformed);
    if (end_ - at_ < 2) return HeadStatus::kNeedMore;
    if (at_[1] != '\n') return refuse(kMalformed);
    at_ += 2;
    return HeadStatus::kComplete;
  }

  HeadStatus refuse(const Refusal& refusal) {
    refusal_ = refusal;
    return HeadStatus::kRefused;
  }

  HeadStatus refuse_version(std::string_view version) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool is_one = version.starts_with("HTTP/") && is_digit(version[5]) && version[6] == '.' &&
                        is_digit(version[7]);
    if (!is_one) return refuse(kMalformed);
    return refuse({505, "The versions we speak here are HTTP/1.0 and HTTP/1.1."});
  }

  HeadStatus finish() {
    if (hosts_ > 1) return refuse({400, "There is more than one Host field."});
    if (hosts_ == 0 && !head_.http_1_0) return refuse({400, "HTTP/1.1 requires a Host field."});
    if (head_.chunked && head_.http_1_0) {
      return refuse({400, "HTTP/1.0 has no chunked transfer coding."});
    }
    head_.keep_alive = head_.http_1_0 ? keeps_alive_ : !closes_;
    head_.method = method_from_name(head_.method_text);
    head_.size = static_cast<std::size_t>(at_ - begin_);
    return HeadStatus::kComplete;
  }

  // Most fields do not matter here; the length of the name usually tells.
  HeadStatus take(std::string_view name, std::string_view value) {
    const auto is = [name](std::string_view other) { return equal_ignoring_case(name, other); };
    switch (name.size()) {
      case 4: return is("Host") ? take_host(value) : HeadStatus::kComplete;
      case 6:
        if (is("Accept")) head_.accept = value;
        if (is("Origin")) head_.origin = value;
        return is("Expect") ? take_expect(value) : HeadStatus::kComplete;
      case 10: return is("Connection") ? take_connection(value) : HeadStatus::kComplete;
      case 13:
        if (!is("Authorization")) return HeadStatus::kComplete;
        head_.repeats_authorization = ++authorizations_ > 1;
        head_.authorization = value;
        return HeadStatus::kComplete;
      case 14: return is("Content-Length") ? take_length(value) : HeadStatus::kComplete;
      case 16: return is("Proxy-Connection") ? take_connection(value) : HeadStatus::kComplete;
      case 17: return is("Transfer-Encoding") ? take_coding(value) : HeadStatus::kComplete;
      default: return HeadStatus::kComplete;
    }
  }

  HeadStatus take_host(std::string_view value) {
    ++hosts_;
    head_.host = value;
    if (!is_host(value)) return refuse({400, "The Host field names no host."});
    return HeadStatus::kComplete;
  }

  HeadStatus take_expect(std::string_view value) {
    head_.expects_continue = equal_ignoring_case(value, "100-continue");
    if (head_.expects_continue) return HeadStatus::kComplete;
    return refuse({417, "The only expectation we can meet is 100-continue."});
  }

  // Tokens between commas; some may be empty.
  HeadStatus take_connection(std::string_view value) {
    while (!value.empty()) {
      const std::string_view option = trim_blanks(take_until(value, ','));
      const char* const end = option.data() + option.size();
      if (token_end(option.data(), end) != end) return refuse(kMalformed);
      closes_ = closes_ || equal_ignoring_case(option, "close");
      keeps_alive_ = keeps_alive_ || equal_ignoring_case(option, "keep-alive");
    }
    return HeadStatus::kComplete;
  }

  // The same number, any number of times, between commas or in several fields.
  HeadStatus take_length(std::string_view value) {
    if (head_.chunked) return refuse(kBadLength);
    for (auto comma = value.find(','); true; comma = value.find(',')) {
      const auto length = read_decimal<std::uint64_t>(trim_blanks(value.substr(0, comma)));
      const bool is_same = !has_length_ || length == head_.content_length;
      if (!length || !is_same) return refuse(kBadLength);
      has_length_ = true;
      head_.content_length = *length;
      if (comma == std::string_view::npos) return HeadStatus::kComplete;
      value.remove_prefix(comma + 1);
    }
  }

  HeadStatus take_coding(std::string_view value) {
    if (head_.chunked || has_length_) return refuse(kBadLength);
    head_.chunked = equal_ignoring_case(value, "chunked");
    if (head_.chunked) return HeadStatus::kComplete;
    return refuse({501, "The only transfer coding we know is chunked."});
  }

  const char* const begin_;
  const char* const end_;
  const char* at_ = begin_;
  RequestHead& head_;
  std::vector<NameValue>& fields_;
  Refusal refusal_;
  int hosts_ = 0;
  int authorizations_ = 0;
  bool has_length_ = false;
  bool closes_ = false;
  bool keeps_alive_ = false;
};

}  // namespace

Method method_from_name(std::string_view name) {
  if (name == "POST") return Method::kPost;
  if (name == "GET") return Method::kGet;
  if (name == "HEAD") return Method::kHead;
  if (name == "PUT") return Method::kPut;
  if (name == "PATCH") return Method::kPatch;
  if (name == "DELETE") return Method::kDelete;
  return Method::kOther;
}

HeadStatus parse_head(std::string_view arrived, RequestHead& head, std::vector<NameValue>& fields,
                      Refusal& refusal) {
  arrived = arrived.substr(0, kHeadMax);
  head = {};
  fields.clear();
  // Otherwise each piece of a long head would be read from the beginning.
  const bool is_long = arrived.size() > kEagerMax && arrived.size() < kHeadMax;
  if (is_long && arrived.find("\r\n\r\n") == std::string_view::npos) return HeadStatus::kNeedMore;
  Reading reader(arrived, head, fields);
  const HeadStatus status = reader.read();
  if (status == HeadStatus::kRefused) refusal = reader.refusal();
  if (status != HeadStatus::kNeedMore || arrived.size() < kHeadMax) return status;
  // More than is read, and still no end.
  refusal = arrived.find('\n') == std::string_view::npos ? kTargetTooLong : kHeadTooLong;
  return HeadStatus::kRefused;
}

HeadStatus HeadReader::read(std::string_view arrived, Refusal& refusal) {
  constexpr std::size_t kKeptMax = 1024;
  constexpr unsigned kOthersMax = 8;  // copying a head costs as much as reading it
  last_ = &of_kept_;
  if (!kept_.empty() && arrived.starts_with(kept_)) return HeadStatus::kComplete;
  last_ = &parts_;
  const HeadStatus status = parse_head(arrived, parts_.head, parts_.fields, refusal);
  const RequestHead& head = parts_.head;
  const bool is_of_check = status == HeadStatus::kComplete && head.method == Method::kPost;
  if (is_of_check && ++others_ % kOthersMax == 0 && head.size <= kKeptMax) {
    kept_.assign(arrived, 0, head.size);
    parse_head(kept_, of_kept_.head, of_kept_.fields, refusal);
  }
  return status;
}

RequestHead head_of(std::string_view method, std::string_view target,
                    std::span<const NameValue> fields) {
  RequestHead head{.method = method_from_name(method), .method_text = method, .target = target};
  for (const auto& [name, part] : {std::pair("host", &RequestHead::host),
                                   {"accept", &RequestHead::accept},
                                   {"authorization", &RequestHead::authorization},
                                   {"origin", &RequestHead::origin}}) {
    head.*part = find_header(fields, name).value_or(std::string_view());
  }
  head.repeats_authorization = is_repeated(fields, "authorization");
  return head;
}

}  // namespace weir::http1
