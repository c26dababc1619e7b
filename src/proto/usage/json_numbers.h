// JsonNumbers: the whole numbers of a JSON text that comes in pieces, each with its path; and those
// texts in it that somebody asks for.
//
//   {"id":"a", "usage":{"total_tokens":30, "list":[1]}}  ->  number("usage.total_tokens", 30)
//
// Nothing is held but the names of the open objects, and the text that is asked for. So a JSON text
// may be of any size, which no parser of whole ones allows. A number in an array has no path,
// unless the array is all there is: a stream of objects, which a client may read one by one. The
// same holds for a number below more than kNamesMax objects, or of a path beyond kPathMax. Numbers
// that are negative or have an exponent say nothing; a fraction is rounded up, and beyond kCostMax
// they are that.
//
// Brackets that do not match end the reading: what follows says nothing, up to end(). The rest of
// the grammar is not checked. Escapes in names are undone as far as they mean ASCII.
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
    // Another value, which begins so, or a number that says nothing: a 0. Whether text() shall tell
    // what it is, if it is a text.
    virtual bool no_number(std::string_view, char) { return false; }
    // Its first kTextMax bytes.
    virtual void text(std::string_view, std::string_view) {}

   protected:
    ~Sink() = default;
  };

  // Stands in a path for an escaped character that is not ASCII, or a control character.
  static constexpr char kOther = '\\';
  static constexpr std::size_t kDepthMax = 256;
  static constexpr std::size_t kNamesMax = 8;
  static constexpr std::size_t kPathMax = 128;
  static constexpr std::size_t kTextMax = 128;

  // `sink` outlives this.
  explicit JsonNumbers(Sink& sink) : sink_(sink) { path_.reserve(kPathMax); }

  // Allocates nothing.
  void feed(std::string_view piece) noexcept;
  // The text is over; another one may follow.
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
  std::array<std::size_t, kNamesMax> outer_sizes_{};  // of the path around each open bracket
  std::bitset<kDepthMax> is_array_{};
  std::size_t depth_ = 0;
  std::size_t lost_at_ =
      0;  // what is below this depth, or of the name there, has no path; 0: all has
  std::int64_t number_ = 0;
  bool in_number_ = false;
  bool is_fraction_ = false;  // behind the point
  bool is_rounded_up_ = false;
  bool is_valid_ = false;
  bool in_string_ = false;
  bool is_escaped_ = false;
  std::size_t digits_left_ = 0;  // of a character's number, such as \u0041
  unsigned character_ = 0;
  bool in_name_ = false;  // which is part of the path
  bool in_text_ = false;  // which the sink wants
  std::array<char, kTextMax> text_{};
  std::size_t text_size_ = 0;
  bool expects_name_ = false;
  bool has_failed_ = false;
};

}  // namespace weir
