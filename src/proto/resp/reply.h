// Reply: an answer of Redis, as a view.
//
//   for (const Reply decision : reply) {           [[1, 9, 0], [0, 0, 250]]
//     const auto allowed = decision[0].integer();
//
// Every accessor works for every reply: what a peer did not send is null, empty or nothing. So
// reading a reply with the wrong shape finds a missing number and does not crash.
//
// A RESP3 type that says no more than an older type is read as that type. A set is an array, a
// boolean is 1 or 0, a double or a big number is its text.
//
// Thread rule: a view of one thread, valid as long as its reader says.
// Tested by reply_reader_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::resp {

enum class ReplyType : std::uint8_t {
  kNull,
  kStatus,   // +OK
  kError,    // -ERR no such thing
  kInteger,  // :7
  kText,     // bytes
  kArray,
  kMap,   // its elements are key, value, key, value
  kPush,  // like an array; not an answer to a command
};

// One value. The values within an array follow it, in order.
struct ReplyNode {
  ReplyType type = ReplyType::kNull;
  std::uint32_t nodes = 1;  // with all within: the next value is so many nodes further
  // The number of an array's elements, or of a text's bytes.
  std::uint32_t size = 0;
  // The number; for a text, where it begins in the input.
  std::int64_t number = 0;
};

class Reply {
 public:
  class Iterator;

  Reply() = default;  // null
  Reply(const ReplyNode& node, const char* input) : node_(&node), input_(input) {}

  ReplyType type() const { return node_->type; }
  bool is_null() const { return type() == ReplyType::kNull; }
  bool is_error() const { return type() == ReplyType::kError; }
  bool is_list() const { return type() >= ReplyType::kArray; }  // array, map or push

  std::optional<std::int64_t> integer() const {
    return type() == ReplyType::kInteger ? std::optional(node_->number) : std::nullopt;
  }

  // The text of a status, an error or a text; else empty.
  std::string_view text() const {
    if (is_list() || type() == ReplyType::kNull || type() == ReplyType::kInteger) return {};
    return {input_ + node_->number, node_->size};
  }

  // "MOVED" for "MOVED 3999 127.0.0.1:6381"; empty if the reply is no error.
  std::string_view error_code() const {
    return is_error() ? text().substr(0, text().find(' ')) : std::string_view();
  }

  // The number of elements of a list, two for each pair of a map; else 0.
  std::size_t size() const { return is_list() ? node_->size : 0; }
  // Walks over the elements before it. Null if there is no such element.
  Reply operator[](std::size_t index) const;
  Iterator begin() const;
  Iterator end() const;

  // The value of `key` in a map (in RESP2, an array); else null.
  Reply at(std::string_view key) const;

 private:
  static constexpr ReplyNode kNullNode{};

  const ReplyNode* node_ = &kNullNode;
  const char* input_ = "";
};

// Iterates over the elements of a list.
class Reply::Iterator {
 public:
  Iterator(const ReplyNode* node, const char* input) : node_(node), input_(input) {}
  Reply operator*() const { return {*node_, input_}; }
  Iterator& operator++() {
    node_ += node_->nodes;
    return *this;
  }
  bool operator==(const Iterator& other) const { return node_ == other.node_; }

 private:
  const ReplyNode* node_;
  const char* input_;
};

inline Reply::Iterator Reply::begin() const { return {node_ + 1, input_}; }

inline Reply::Iterator Reply::end() const {
  return {node_ + (is_list() ? node_->nodes : 1), input_};
}

inline Reply Reply::operator[](std::size_t index) const {
  for (const Reply element : *this) {
    if (index-- == 0) return element;
  }
  return {};
}

inline Reply Reply::at(std::string_view key) const {
  for (auto element = begin(); element != end(); ++element) {
    const bool is_it = (*element).text() == key;
    if (++element == end()) break;
    if (is_it) return *element;
  }
  return {};
}

}  // namespace weir::resp
