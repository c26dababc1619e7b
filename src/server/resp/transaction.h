// Transaction: the commands of a connection between MULTI and EXEC.
//
//   open ──EXEC──> running: the session carries out one after the other ──> gone
//     └──a command that cannot be carried out──> spoilt: EXEC refuses, and nothing is charged
//
// Bounds: kCommandsMax and kBytesMax.
//
// Thread rule: the connection's. Tested by resp_multi_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proto/output_buffer.h"
#include "proto/resp/command_reader.h"

namespace weir {

class Transaction {
 public:
  static constexpr std::size_t kCommandsMax = 1024;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  // False, and not added, if there is no room.
  bool add(std::span<const std::string_view> arguments);

  // EXEC will refuse: it forgets all queued commands, and all later ones.
  void spoil();
  bool is_spoilt() const { return state_ == State::kSpoilt; }

  // All checks are charged, or none is.
  void make_atomic() { is_atomic_ = true; }
  bool is_atomic() const { return is_atomic_; }

  void run() { state_ = State::kRunning; }
  bool is_running() const { return state_ == State::kRunning; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The arguments of the first command, in `room`; valid until pop().
  std::span<const std::string_view> front(resp::Arguments& room);
  void pop();

  std::size_t held() const { return sizeof(*this) + commands_.capacity(); }

 private:
  enum class State : std::uint8_t { kOpen, kSpoilt, kRunning };

  OutputBuffer commands_;
  resp::CommandReader reader_;
  std::size_t size_ = 0;
  State state_ = State::kOpen;
  bool is_atomic_ = false;
};

}  // namespace weir
