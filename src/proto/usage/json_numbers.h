// JsonNumbers: the whole numbers of a JSON text that comes in pieces, each with its path; and the
// texts in it that the sink asks for.
//
//   {"id":"a", "usage":{"total_tokens":30, "list":[1]}}  ->  number("usage.total_tokens", 30)
//
// It keeps only the names of the open objects, and a text that was asked for. So a JSON text may
// have any size, unlike for parsers of whole texts. A number in an array has no path, unless the
// array is the whole text: a stream of objects, which a client may read one by one. A number below
// more than kNamesMax objects, or with a path beyond kPathMax, has no path, either. Negative
// numbers and numbers with an exponent are no numbers here; a fraction is rounded up, and kCostMax
// is the most.
//
// After brackets that do not match, nothing is read up to end(). The rest of the grammar is not
// checked. Escapes in names are undone if they mean ASCII.
//
// Thread rule: one thread. Tested by json_numbers_test.cc and fuzz/usage_fuzz.cc.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

class JsonNumbers {
 public:
  class Sink {
   public:
    virtual void number(std::string_view path, std::int64_t value) = 0;
    // Another value, which begins with this character; or, with a 0, a number that is none here.
    // Returns whether text() should be called with it, if it is a text.
    virtual bool no_number(std::string_view, char) { return false; }
    // The text's first kTextMax bytes.
    virtual void text(std::string_view, std::string_view) {}

   protected:
    ~Sink() = default;
  };

  // Replaces, in a path, an escaped character that is not ASCII, or a control character.
  static constexpr char kOther = '\\';
  static constexpr std::size_t kDepthMax = 256;
  static constexpr std::size_t kNamesMax = 8;
  static constexpr std::size_t kPathMax = 128;
  static constexpr std::size_t kTextMax = 128;

  // `sink` outlives this.
  explicit JsonNumbers(Sink& sink) : sink_(sink) { path_.reserve(kPathMax); }

  // Allocates nothing.
  void feed(std::string_view piece) noexcept;
  // The text is complete; another one may follow.
  void end();
  bool has_failed() const { return has_failed_; }

 private:
  const char* read_string(const char* at, const char* end);
  void read_escaped(char c);
  void read(char c);
  bool goes_on_number(char c);
  void end_number();
  void begin_name();
  void add_to_name(std::string_view text);
  void open(char bracket);
  void close(char bracket);
  bool is_in_object() const { return depth_ > 0 && !is_array_[depth_ - 1]; }
  bool has_path() const { return lost_at_ == 0 && is_in_object() && !expects_name_; }
  bool say_no_number(char first) { return has_path() && sink_.no_number(path_, first); }
  void add_to_text(std::string_view text);

  Sink& sink_;
  std::string path_{};
  std::array<std::size_t, kNamesMax> outer_sizes_{};  // the path's, around each open bracket
  std::bitset<kDepthMax> is_array_{};
  std::size_t depth_ = 0;
  std::size_t lost_at_ =
      0;  // nothing below this depth, or of the name there, has a path; 0: all has
  std::int64_t number_ = 0;
  bool in_number_ = false;
  bool is_fraction_ = false;  // after the point
  bool is_rounded_up_ = false;
  bool is_valid_ = false;
  bool in_string_ = false;
  bool is_escaped_ = false;
  std::size_t digits_left_ = 0;  // of an escape such as \u0041
  unsigned character_ = 0;
  bool in_name_ = false;  // a name in the path
  bool in_text_ = false;  // a text for the sink
  std::array<char, kTextMax> text_{};
  std::size_t text_size_ = 0;
  bool expects_name_ = false;
  bool has_failed_ = false;
};

}  // namespace weir
