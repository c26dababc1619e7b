#include "proto/usage/json_numbers.h"

#include <algorithm>

#include "base/byte_search.h"
#include "weir/quota.h"

namespace weir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonNumbers::feed(std::string_view piece) {
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
  depth_ = lost_at_ = 0;
  in_number_ = in_string_ = is_escaped_ = in_name_ = expects_name_ = has_failed_ = false;
}

const char* JsonNumbers::read_string(const char* at, const char* end) {
  if (is_escaped_) {
    is_escaped_ = false;
    add_to_name({at, 1});
    return at + 1;
  }
  const char* const stop =
      find_byte(at, end, [](ByteGroup bytes) { return (bytes == '"') | (bytes == '\\'); });
  add_to_name({at, stop});
  if (stop == end) return end;
  if (*stop == '"') {
    in_string_ = in_name_ = false;
  } else {
    is_escaped_ = true;
    add_to_name("\\");  // no name that anybody looks for has one
  }
  return stop + 1;
}

void JsonNumbers::read(char c) {
  if (in_number_ && goes_on_number(c)) return;
  if (in_number_) end_number();
  switch (c) {
    case '"':
      in_string_ = true;
      if (expects_name_) begin_name();
      expects_name_ = false;
      break;
    case '{':
    case '[': open(c); break;
    case '}':
    case ']': close(c); break;
    case ',': expects_name_ = is_in_object(); break;
    default:
      if (!is_digit(c) && c != '-') break;
      in_number_ = is_whole_ = true;
      number_ = 0;
      goes_on_number(c);
  }
}

bool JsonNumbers::goes_on_number(char c) {
  if (is_digit(c)) {
    number_ = std::min(number_ * 10 + (c - '0'), kCostMax);
    return true;
  }
  const bool goes_on = std::string_view("+-.eE").find(c) != std::string_view::npos;
  if (goes_on) is_whole_ = false;
  return goes_on;
}

void JsonNumbers::end_number() {
  in_number_ = false;
  const bool has_path = lost_at_ == 0 && is_in_object() && !expects_name_;
  if (has_path && is_whole_) sink_.number(path_, number_);
}

void JsonNumbers::begin_name() {
  if (lost_at_ == depth_) lost_at_ = 0;  // by the name before
  if (lost_at_ != 0) return;
  if (depth_ > kNamesMax) {
    lost_at_ = depth_;
    return;
  }
  path_.resize(outer_sizes_[depth_ - 1]);
  in_name_ = true;
  if (!path_.empty()) add_to_name(".");
}

void JsonNumbers::add_to_name(std::string_view text) {
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
