// RuleBoard: the rules that requests have changed, in memory that all workers of one nginx map.
//
//   worker: PUT /admin/rules/login ──> Hold ──> version 8 ──> the others, before their next request
//
// A reload reads the file again: it begins a generation of workers without changed rules. The
// workers of the last generation, which finish their requests, go on with theirs.
//
// The board has two halves, and the version says which half is read: a worker that is killed while
// it writes leaves the read half intact.
//
// Thread rule: format() before there are workers; the rest one thread of each process.
// Tested by src/nginx/changed_rules_test.cc and zone_race_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "store/memory/shard_lock.h"

namespace weir::nginx {

class RuleBoard {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{16} << 10;

  // Once, before any process uses it. REQUIRES: zeros, at least kBytesMin, aligned for any type
  static void format(std::span<std::byte> memory);

  // `memory` has been formatted, and outlives this. `generation`: this process's, from 1 on.
  RuleBoard(std::span<std::byte> memory, std::uint64_t generation);

  std::uint64_t version() const { return head_.version.load(std::memory_order_acquire); }
  // The version of the file's rules, from which a worker that starts counts: changes come after it.
  // Takes the lock.
  std::uint64_t version_of_file();
  // There is a version that read() has not returned yet.
  bool has_news() const { return version() != seen_; }

  // The count of versions goes on through all generations.
  struct Version {
    std::uint64_t number = 0;
    std::string rules{};  // a configuration; empty: the file's rules
  };

  // While this lives, no other worker changes anything.
  class Hold {
   public:
    explicit Hold(RuleBoard& board);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // nullopt if the board is of a later generation.
    std::optional<Version> read();
    // Makes the next version. False if the text is too long. REQUIRES: read() has returned one
    [[nodiscard]] bool write(std::string_view rules);

   private:
    RuleBoard& board_;
  };

 private:
  struct Text {
    std::uint64_t generation;
    std::size_t size;
  };
  struct Head {
    ShardMutex mutex;
    std::atomic<std::uint64_t> version;
    std::array<Text, 2> texts;
  };

  void publish(std::uint64_t version, std::string_view rules);
  std::span<std::byte> half(std::uint64_t version) const;

  Head& head_;
  const std::span<std::byte> bytes_;  // of both halves
  const std::uint64_t generation_;
  std::uint64_t seen_ = 0;
};

}  // namespace weir::nginx
