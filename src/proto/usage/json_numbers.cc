#include "proto/usage/json_numbers.h"

#include <algorithm>

#include "base/byte_search.h"
#include "base/percent.h"
#include "weir/quota.h"

namespace weir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonNumbers::feed(std::string_view piece) noexcept {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  while (at != end && !has_failed_) {
    if (in_string_) {
      at = read_string(at, end);
    } else {
      read(*at++);
    }
  }
}

void JsonNumbers::end() {
  depth_ = lost_at_ = digits_left_ = 0;
  in_number_ = in_string_ = is_escaped_ = in_name_ = in_text_ = expects_name_ = has_failed_ = false;
}

const char* JsonNumbers::read_string(const char* at, const char* end) {
  if (is_escaped_) {
    read_escaped(*at);
    return at + 1;
  }
  const char* const stop =
      find_byte(at, end, [](ByteGroup bytes) { return (bytes == '"') | (bytes == '\\'); });
  add_to_name({at, stop});
  if (stop == end) return end;
  if (*stop == '"') {
    if (in_text_) sink_.text(path_, {text_.data(), text_size_});
    in_string_ = in_name_ = in_text_ = false;
  } else {
    is_escaped_ = true;
  }
  return stop + 1;
}

void JsonNumbers::read_escaped(char c) {
  if (digits_left_ == 0 && c == 'u') {
    digits_left_ = 4;
    character_ = 0;
    return;
  }
  if (digits_left_ == 0) {
    is_escaped_ = false;
    const bool is_itself = c == '"' || c == '/';
    return add_to_name({is_itself ? &c : &kOther, 1});
  }
  const auto digit = hex_digit(c);
  // A character that is no digit breaks the text, and gives no name.
  character_ = digit ? character_ << 4 | static_cast<unsigned>(*digit) : 0xFFFF;
  if (--digits_left_ > 0) return;
  is_escaped_ = false;
  const char ascii = static_cast<char>(character_ & 0x7F);
  add_to_name({character_ == static_cast<unsigned char>(ascii) ? &ascii : &kOther, 1});
}

void JsonNumbers::read(char c) {
  if (in_number_ && goes_on_number(c)) return;
  if (in_number_) end_number();
  switch (c) {
    case '"':
      in_string_ = true;
      if (expects_name_) {
        begin_name();
      } else {
        in_text_ = say_no_number(c);
        text_size_ = 0;
      }
      expects_name_ = false;
      break;
    case '{':
    case '[':
      say_no_number(c);
      open(c);
      break;
    case '}':
    case ']': close(c); break;
    case ',': expects_name_ = is_in_object(); break;
    case 'n':
    case 't':
    case 'f': say_no_number(c); break;  // null, true, false
    default:
      if (!is_digit(c) && c != '-') break;
      in_number_ = is_valid_ = true;
      is_fraction_ = is_rounded_up_ = false;
      number_ = 0;
      goes_on_number(c);
  }
}

bool JsonNumbers::goes_on_number(char c) {
  const bool goes_on = is_digit(c) || std::string_view("+-.eE").find(c) != std::string_view::npos;
  if (is_digit(c) && !is_fraction_) {
    number_ = std::min(number_ * 10 + (c - '0'), kCostMax);
  } else if (is_digit(c)) {
    is_rounded_up_ = is_rounded_up_ || c != '0';
  } else if (c == '.') {
    is_fraction_ = true;
  } else if (goes_on) {
    is_valid_ = false;
  }
  return goes_on;
}

void JsonNumbers::end_number() {
  in_number_ = false;
  if (!is_valid_) {
    say_no_number('0');
  } else if (has_path()) {
    sink_.number(path_, std::min(number_ + (is_rounded_up_ ? 1 : 0), kCostMax));
  }
}

void JsonNumbers::begin_name() {
  if (lost_at_ == depth_) lost_at_ = 0;  // lost by the name before
  if (lost_at_ != 0) return;
  if (depth_ > kNamesMax) {
    lost_at_ = depth_;
    return;
  }
  path_.resize(outer_sizes_[depth_ - 1]);
  in_name_ = true;
  if (depth_ > 1 && !is_array_[depth_ - 2]) add_to_name(".");
}

void JsonNumbers::add_to_text(std::string_view text) {
  text_size_ += text.copy(text_.data() + text_size_, kTextMax - text_size_);
}

void JsonNumbers::add_to_name(std::string_view text) {
  if (in_text_) return add_to_text(text);
  if (!in_name_) return;
  if (path_.size() + text.size() <= kPathMax) {
    path_ += text;
  } else {
    path_.resize(outer_sizes_[depth_ - 1]);  // as if it had come in one piece
    lost_at_ = depth_;
    in_name_ = false;
  }
}

void JsonNumbers::open(char bracket) {
  if (depth_ == kDepthMax) {
    has_failed_ = true;
    return;
  }
  if (!is_in_object() && lost_at_ == 0) path_.clear();
  const bool is_array = bracket == '[';
  is_array_[depth_] = is_array;
  if (lost_at_ == 0 && depth_ < kNamesMax) outer_sizes_[depth_] = path_.size();
  ++depth_;
  if (is_array && depth_ > 1 && lost_at_ == 0) lost_at_ = depth_;
  expects_name_ = !is_array;
}

void JsonNumbers::close(char bracket) {
  if (depth_ == 0 || is_array_[depth_ - 1] != (bracket == ']')) {
    has_failed_ = true;
    return;
  }
  --depth_;
  if (lost_at_ > depth_) lost_at_ = 0;
  expects_name_ = false;
}

}  // namespace weir
