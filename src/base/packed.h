// Numbers and texts as bytes, for other nodes, other processes and files.
//
//   version  one byte
//   number   below 2^63: seven bits a byte, the lowest first; the eighth bit says that more follow
//   hash     eight bytes, the lowest first
//   text     its length as a number, then its bytes
//
// A reader may be given any bytes. After the first mistake it returns zeros and empty texts, so its
// caller asks only once, at the end, whether all was right.
//
// Thread rule: values. Tested by packed_test.cc and fuzz/packed_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

class PackedWriter {
 public:
  PackedWriter& version(char version) {
    bytes_ += version;
    return *this;
  }
  PackedWriter& number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
    return *this;
  }
  PackedWriter& hash(std::uint64_t hash) {
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(hash >> shift);
    return *this;
  }
  PackedWriter& text(std::string_view text) {
    number(text.size());
    bytes_ += text;
    return *this;
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

  // Refuses any other version.
  void version(char version) { require(byte() == static_cast<unsigned char>(version)); }
  // Refuses numbers above `most`.
  std::uint64_t number(std::uint64_t most) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const std::uint64_t next = byte();
      number |= (next & 0x7f) << shift;
      if (next >= 0x80) continue;
      require(number <= most);
      return is_right_ ? number : 0;
    }
    require(false);
    return 0;
  }
  std::uint64_t hash() {
    std::uint64_t hash = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) hash |= std::uint64_t{byte()} << shift;
    return is_right_ ? hash : 0;
  }
  // The number of items that follow, a byte each at least. Refuses more items than bytes.
  std::size_t items() {
    const std::uint64_t items = number(SIZE_MAX >> 1);
    require(items <= rest_.size());
    return is_right_ ? static_cast<std::size_t>(items) : 0;
  }
  // Refuses a text of more than `most` bytes. The text lives as long as the bytes that are read.
  std::string_view text(std::size_t most) { return take(static_cast<std::size_t>(number(most))); }

  // Notes a mistake that the caller found: reading ends, as after the reader's own.
  void require(bool is_right) {
    if (is_right) return;
    is_right_ = false;
    rest_ = {};
  }

  bool has_more() const { return !rest_.empty(); }
  // Whether all was right so far. More may follow, written by a later version.
  bool is_right() const { return is_right_; }
  // Whether all was right, and nothing is left.
  bool is_whole() const { return is_right_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    require(size <= rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  unsigned char byte() {
    const std::string_view taken = take(1);
    return taken.empty() ? 0 : static_cast<unsigned char>(taken.front());
  }

  std::string_view rest_;
  bool is_right_ = true;
};

}  // namespace weir
