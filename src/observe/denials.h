// Denials: a record of recent denials, with their rules, keys and answers, so that people can look
// ten minutes later.
//
// A core keeps at most kPerSecond denials of each second, in a ring of kEntries entries. That is
// seventeen minutes if every second has so many, else longer. Denials of one second with the same
// rule, key, reason, status and door are one entry, so a client that hammers takes one. It
// counts them, and shows method, path, client and country of the first. Each rule's first
// denial in a second has an entry, whatever floods others, while there are no more rules than
// entries. Chance decides which later ones stay (Vitter's reservoir): all of a second have the same
// chance. A denial without an entry is counted.
//
// An allowed request costs nothing here. A denial is compared with each entry of its second.
//
// Plain memory that begins as zeros (core_slots.h).
//
// Thread rule: add() and keep_texts() on the owning core; each() from any thread. A reader misses
// an entry that is being written. Tested by denials_test.cc.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ip_address.h"
#include "observe/keys/key_report.h"
#include "weir/time.h"

namespace weir {

enum class DenialCause : std::uint8_t {
  kLimit,
  kBlock,
  kDenyList,
  kMissingKey,
  kStoreFailure,
  kMemoryFull,
};
inline constexpr std::array<std::string_view, 6> kDenialCauses = {
    "limit", "block", "deny_list", "missing_key", "store_failure", "memory_full"};

// The door at which the denied request asked.
enum class DenialDoor : std::uint8_t { kHttp, kAuth, kGrpc, kResp, kNginx };
inline constexpr std::array<std::string_view, 5> kDenialDoors = {"http", "auth", "grpc", "resp",
                                                                 "nginx"};
inline std::string_view door_name(DenialDoor door) {
  return kDenialDoors[static_cast<std::size_t>(door)];
}

// "GET", ..., "OPTIONS"; empty: another method, or unknown.
std::string_view method_name(std::uint8_t method);

// One denial, with the number of others like it in the same second.
struct DenialFacts {
  Instant at{};
  RuleNumber rule = kNoRuleNumber;
  DenialCause cause = DenialCause::kLimit;
  bool is_shadow = false;    // counted as a denial, but the request passed
  std::uint16_t status = 0;  // of the answer; 0: the caller is no proxy
  std::uint32_t times = 1;
  std::uint32_t forgotten = 0;  // denials without an entry in its second, in one entry only
  std::uint64_t key_hash = 0;
  std::int64_t cost = 0;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  Duration retry_after{};  // the longest; zero: waiting does not help
  IpAddress client{};      // ::, if unknown, or if texts are not kept
  DenialDoor door = DenialDoor::kHttp;
  std::uint8_t method = 0;        // method_name()
  std::array<char, 2> country{};  // in capitals; zeros: unknown
};
// Texts of the request.
struct DenialTexts {
  std::string_view method{};
  std::string_view key{};
  std::string_view path{};
  std::string_view country{};
};
struct DenialRecord : DenialFacts {
  std::string key{};   // the key's first bytes; empty: texts are not kept
  std::string path{};  // likewise; empty also if unknown
};

// Adds up entries of several cores as if one core had counted them. The earliest come first.
std::vector<DenialRecord> added_up(std::vector<DenialRecord> denials);

// A line for a log, which cannot control a terminal. `rule`: its id; empty: there is no rule.
std::string to_text(const DenialRecord& denial, std::string_view rule);

class CoreDenials {
 public:
  static constexpr std::size_t kPerSecond = 8;
  static constexpr std::size_t kEntries = 8'192;
  static constexpr std::size_t kTextMax = 64;  // bytes of a key, and of a path

  // The part of a text that is kept. It never ends within a character.
  static std::string_view kept(std::string_view text) noexcept;

  // From now on entries also have keys, paths and clients.
  void keep_texts() noexcept { keeps_texts_.store(1, std::memory_order_relaxed); }

  void add(DenialFacts facts, DenialTexts texts) noexcept;

  // Calls visit(denial) for each entry of the seconds `first` to `last`, since 1970, in no order.
  template <typename Visit>
  void each(std::int64_t first, std::int64_t last, Visit visit) const {
    for (const Entry& entry : entries_) {
      const auto denial = entry.read(first, last);
      if (denial) visit(*denial);
    }
  }

  // The first second from which on no entry was overwritten; the least if none was.
  std::int64_t whole_since() const;

  static std::int64_t second_of(Instant at) noexcept {
    return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  }

 private:
  static_assert(kEntries % kPerSecond == 0);
  static_assert(std::is_trivially_copyable_v<DenialFacts> && sizeof(DenialFacts) % 8 == 0);
  static constexpr std::size_t kFactWords = sizeof(DenialFacts) / 8;
  using Text = std::array<std::atomic<std::uint64_t>, kTextMax / 8>;

  // A writer makes `version` odd, writes, and makes it even. A reader drops what it read if the
  // version was odd or has changed. The fences pair with each other.
  struct Entry {
    std::atomic<std::uint64_t> version{0};  // 0: never written
    std::atomic<std::uint32_t> key_size{0};
    std::atomic<std::uint32_t> path_size{0};
    std::array<std::atomic<std::uint64_t>, kFactWords> facts{};
    Text key{};
    Text path{};

    void write(const DenialFacts& new_facts, const DenialTexts& texts) noexcept;
    void count(std::uint32_t times, std::uint32_t forgotten) noexcept;
    void set_wait(Duration retry_after) noexcept;
    std::optional<DenialRecord> read(std::int64_t first, std::int64_t last) const;
  };

  // What the owner knows of this second's entries without reading them.
  enum class Turn : std::uint32_t { kFirst, kFurther };  // of its rule, in this second
  struct Own {
    std::uint64_t name = 0;  // hash of rule, key and cause
    Duration retry_after{};
    std::uint32_t times = 0;
    RuleNumber rule = kNoRuleNumber;
    Turn turn = Turn::kFirst;
  };
  std::size_t index_of(std::size_t index) const noexcept { return (begin_ + index) % kEntries; }
  std::size_t room_for(const Own& entry) noexcept;
  void tell_times(std::size_t index) noexcept;

  std::atomic<std::uint32_t> keeps_texts_{0};
  std::uint32_t forgotten_ = 0;  // denials without an entry in this second
  // How many entries this second had for each turn, with those that were replaced.
  std::array<std::uint32_t, 2> seen_{};
  std::int64_t second_ = 0;
  std::uint64_t begin_ = 0;   // the index of this second's first entry
  std::size_t size_ = 0;      // this second's entries
  std::uint64_t chance_ = 0;  // the generator's state
  std::array<Own, kPerSecond> own_{};
  std::array<Entry, kEntries> entries_{};
};

}  // namespace weir
