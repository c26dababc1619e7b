#include "proto/http/beast_head_testing.h"

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <functional>

#include "proto/http/host.h"

namespace weir::http1 {
namespace {

namespace beast = boost::beast;
using BeastError = beast::http::error;
using BeastText = beast::string_view;

// A longer head is parsed only when it is complete.
constexpr std::size_t kEagerMax = 8 << 10;

constexpr Refusal kMalformed{400, "The request is not well-formed HTTP/1.1."};
constexpr Refusal kTargetTooLong{414, "The request target is longer than 16 KiB."};
constexpr Refusal kHeadTooLong{431, "The request line and header fields exceed 32 KiB."};

std::string_view text_of(BeastText text) { return {text.data(), text.size()}; }

// Takes what matters from Beast's parser, and refuses what Beast would let pass.
class HeadParser final : public beast::http::basic_parser<true> {
 public:
  HeadParser(std::string_view arrived, RequestHead& head) : arrived_(arrived), head_(head) {
    header_limit(2 * kHeadMax);  // the limit is ours, and counts from the first byte
    body_limit(boost::none);
    head_.is_printable = true;
  }

  const Refusal& refusal() const { return refusal_; }

  // Checks the rules that need all fields.
  bool accept_framing() {
    const bool is_1_0 = head_.http_1_0;
    if (hosts_ > 1) return refuse({400, "There is more than one Host field."});
    if (hosts_ == 0 && !is_1_0) return refuse({400, "HTTP/1.1 requires a Host field."});
    if (head_.chunked && is_1_0) return refuse({400, "HTTP/1.0 has no chunked transfer coding."});
    head_.keep_alive = keep_alive();
    head_.content_length = content_length().value_or(0);
    return true;
  }

 private:
  using Error = beast::error_code;

  void on_request_impl(beast::http::verb, BeastText method, BeastText target, int version,
                       Error& error) override {
    head_.method = method_from_name(text_of(method));
    head_.method_text = text_of(method);
    head_.target = text_of(target);
    head_.http_1_0 = version == 10;
    if (target.size() > kTargetMax) refuse(kTargetTooLong, error);
  }

  void on_field_impl(beast::http::field name, BeastText name_text, BeastText value,
                     Error& error) override {
    using beast::http::field;
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    head_.is_printable = head_.is_printable && std::ranges::all_of(value, is_printable);
    if (is_folded(name_text, value)) return refuse({400, "A header field is folded."}, error);
    switch (name) {
      case field::host:
        ++hosts_;
        head_.host = text_of(value);
        if (!is_host(head_.host)) refuse({400, "The Host field names no host."}, error);
        break;
      case field::accept: head_.accept = text_of(value); break;
      case field::authorization:
        head_.repeats_authorization = ++authorizations_ > 1;
        head_.authorization = text_of(value);
        break;
      case field::origin: head_.origin = text_of(value); break;
      case field::expect: on_expect(value, error); break;
      case field::transfer_encoding: on_transfer_encoding(value, error); break;
      default: break;
    }
  }

  void on_expect(BeastText value, Error& error) {
    if (!beast::iequals(value, "100-continue")) {
      return refuse({417, "The only expectation we can meet is 100-continue."}, error);
    }
    head_.expects_continue = true;
  }

  void on_transfer_encoding(BeastText value, Error& error) {
    if (!beast::iequals(value, "chunked")) {
      return refuse({501, "The only transfer coding we know is chunked."}, error);
    }
    head_.chunked = true;
  }

  // Beast joins folded lines in its own memory, which is about to be freed. But if only one line
  // has a text, the value is where it arrived, after a line's end or before one.
  bool is_folded(BeastText name, BeastText value) const {
    if (value.empty()) return goes_on_behind(end_of(name));
    if (!is_part_of_input(value)) return true;
    constexpr std::size_t kColonAndSpace = 2;
    const std::size_t gap = end_of(value) - value.size() - end_of(name);
    const bool may_hold_line = gap > kColonAndSpace;
    if (may_hold_line && arrived_.substr(end_of(name), gap).find('\n') != std::string_view::npos) {
      return true;
    }
    return goes_on_behind(end_of(value));
  }

  // Whether the line after the line with this place begins with a blank.
  bool goes_on_behind(std::size_t place) const {
    const bool is_end = arrived_[place] == '\r';
    const std::size_t line_end = is_end ? place + 1 : arrived_.find('\n', place);
    const char next = line_end + 1 < arrived_.size() ? arrived_[line_end + 1] : '\0';
    return next == ' ' || next == '\t';
  }

  std::size_t end_of(BeastText value) const {
    return static_cast<std::size_t>(value.data() + value.size() - arrived_.data());
  }

  bool is_part_of_input(BeastText value) const {
    // Only std::less orders unrelated pointers rightly.
    const std::less<> before;
    return !before(value.data(), arrived_.data()) &&
           !before(arrived_.data() + arrived_.size(), value.data() + value.size());
  }

  bool refuse(const Refusal& refusal) {
    refusal_ = refusal;
    return false;
  }
  void refuse(const Refusal& refusal, Error& error) {
    refusal_ = refusal;
    error = BeastError::bad_value;
  }

  // Never called: parsing stops where the body begins.
  void on_response_impl(int, BeastText, int, Error&) override {}
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(BeastText, Error&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, BeastText, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastText, Error&) override { return 0; }
  void on_finish_impl(Error&) override {}

  std::string_view arrived_;
  RequestHead& head_;
  Refusal refusal_;
  int hosts_ = 0;
  int authorizations_ = 0;
};

// Beast calls both an unknown version and a malformed one bad; clients should know which.
Refusal version_refusal(std::string_view request_line) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  request_line = request_line.substr(request_line.find(' ') + 1);
  const std::string_view version = request_line.substr(request_line.find(' ') + 1, 8);
  const bool well_formed = version.size() == 8 && version.starts_with("HTTP/") &&
                           digit(version[5]) && version[6] == '.' && digit(version[7]);
  if (!well_formed || version == "HTTP/1.0" || version == "HTTP/1.1") return kMalformed;
  return {505, "The versions we speak here are HTTP/1.0 and HTTP/1.1."};
}

Refusal refusal_of(const beast::error_code& error, std::string_view arrived) {
  if (error == BeastError::bad_version) return version_refusal(arrived);
  if (error == BeastError::header_limit) return kHeadTooLong;
  if (error == BeastError::bad_content_length || error == BeastError::multiple_content_length ||
      error == BeastError::bad_transfer_encoding) {
    return {400, "Content-Length or Transfer-Encoding is malformed, repeated, or both are there."};
  }
  return kMalformed;
}

// More than is read, and still no end.
Refusal too_long(std::string_view arrived) {
  return arrived.find('\n') == std::string_view::npos ? kTargetTooLong : kHeadTooLong;
}

}  // namespace

HeadStatus judge_by_beast(std::string_view arrived, RequestHead& head, Refusal& refusal) {
  head = {};
  // Otherwise each piece of a long head would be parsed from the beginning.
  const bool is_long = arrived.size() > kEagerMax && arrived.size() < kHeadMax;
  if (is_long && arrived.find("\r\n\r\n") == std::string_view::npos) return HeadStatus::kNeedMore;
  HeadParser parser(arrived, head);
  beast::error_code error;
  const std::size_t parsed = parser.put({arrived.data(), arrived.size()}, error);
  if (error == BeastError::need_more) {
    if (arrived.size() < kHeadMax) return HeadStatus::kNeedMore;
    refusal = too_long(arrived);
    return HeadStatus::kRefused;
  }
  if (error || !parser.accept_framing()) {
    refusal = parser.refusal().status != 0 ? parser.refusal() : refusal_of(error, arrived);
    return HeadStatus::kRefused;
  }
  head.size = parsed;
  return HeadStatus::kComplete;
}

}  // namespace weir::http1
