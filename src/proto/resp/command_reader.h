// CommandReader: finds the commands in what a Redis client has sent.
//
//   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n      an array of bulk strings, as clients send it
//   ECHO "hi"\r\n                         an inline command, as people type it
//
// Arguments are views into the input; the escapes of an inline command are undone where
// they stand. A command that arrives in many pieces is not read from its beginning for
// each of them: the reader remembers how far it came. Its answer depends on the bytes alone, never
// on how they were cut.
//
// Bounds: arguments and their sizes by CommandLimits; kCommandMax for the whole;
// kInlineMax for a line; the number of an array's line is decided by its 32nd byte.
//
// Thread rule: one reader a connection; the room for arguments may be shared by all
// connections of a core. Tested by command_reader_test.cc and fuzz/resp_session_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::resp {

inline constexpr std::size_t kArgumentsMax = 1024;
inline constexpr std::size_t kCommandMax = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kInlineMax = std::size_t{64} << 10;  // bytes, the line's end included

struct CommandLimits {
  std::int64_t arguments = 0;
  std::int64_t bulk = 0;  // bytes of an argument
  // How Redis words that there are more.
  std::string_view arguments_refusal;
  std::string_view bulk_refusal;
};

// Before a client has shown who it is: as Redis. Afterwards: more than any check needs.
inline constexpr CommandLimits kStrangerLimits{
    .arguments = 10,
    .bulk = 16 << 10,
    .arguments_refusal = "unauthenticated multibulk length",
    .bulk_refusal = "unauthenticated bulk length"};
inline constexpr CommandLimits kClientLimits{.arguments = kArgumentsMax,
                                             .bulk = 64 << 10,
                                             .arguments_refusal = "invalid multibulk length",
                                             .bulk_refusal = "invalid bulk length"};

// Room for the arguments of one command, its name first.
using Arguments = std::array<std::string_view, kArgumentsMax>;

class CommandReader {
 public:
  enum class Status : std::uint8_t {
    kNeedMore,  // what is there is the beginning of a command
    kCommand,
    kNothing,  // an empty line or array, to be ignored
    kRefused,  // not the protocol: refusal() says why, and the connection is to be closed
  };

  // Reads the command at the front of `input`: all that has arrived and was not consumed.
  // If kCommand or kNothing, size() bytes are to be consumed before the next call; the
  // arguments, in `room`, are valid as long as these bytes and until the next call.
  Status read(std::string_view input, const CommandLimits& limits, Arguments& room);

  // Whether a part of the next command was read.
  bool has_begun() const { return expected_ > 0 || at_ > 0; }

  std::span<const std::string_view> arguments() const { return arguments_; }
  std::size_t size() const { return size_; }
  // As Redis words it, behind "Protocol error: ".
  const std::string& refusal() const { return refusal_; }

 private:
  Status read_inline(std::string_view input, Arguments& room);
  Status read_array(std::string_view input, const CommandLimits& limits, Arguments& room);
  // kCommand: the count, or one more argument, has been read.
  Status read_count(std::string_view input, const CommandLimits& limits);
  Status read_argument(std::string_view input, const CommandLimits& limits, Arguments& room);
  // Reads arguments of at most 99 bytes, which nearly all are.
  void read_short_arguments(std::string_view input, Arguments& room);
  Status complete(Status status, std::span<const std::string_view> arguments, std::size_t size);
  Status refuse(std::string_view why);

  // The state of a command that is still arriving. `at_` is where the next argument
  // begins; in a line, how far the search for its end came.
  std::size_t expected_ = 0;  // arguments; 0 when not known yet
  std::size_t read_ = 0;      // arguments
  std::size_t at_ = 0;

  std::span<const std::string_view> arguments_;
  std::size_t size_ = 0;
  std::string line_;  // the last inline command, without its quotes
  std::string refusal_;
};

}  // namespace weir::resp
