// Denials: a record of what was denied lately, of which rules and keys, and with which answers, so
// that somebody can look ten minutes later.
//
// A core keeps kPerSecond denials of each second, by turns in kPlaces places: seventeen minutes
// while every second has as many, and longer else. Denials of one second that are alike in rule,
// key, reason, status and door are one entry, so a client that hammers takes one place. It counts
// them, and shows method, path, client and country of the first. The first denial of each rule
// in a second has a place, whatever floods others, while there are no more rules than places.
// Chance decides which of further ones stay (Vitter's reservoir), so that each has the same chance
// to be there as another of its second. A denial that finds no place is counted.
//
// A request that is allowed costs nothing here; a denial costs a comparison with each entry of its
// second.
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

// Where a denial was asked for.
enum class DenialDoor : std::uint8_t { kHttp, kAuth, kGrpc, kResp, kNginx };
inline constexpr std::array<std::string_view, 5> kDenialDoors = {"http", "auth", "grpc", "resp",
                                                                 "nginx"};
inline std::string_view door_name(DenialDoor door) {
  return kDenialDoors[static_cast<std::size_t>(door)];
}

// "GET", ..., "OPTIONS"; empty: another, or unknown.
std::string_view method_name(std::uint8_t method);

// One denial, and how many more like it came in its second.
struct DenialFacts {
  Instant at{};
  RuleNumber rule = kNoRuleNumber;
  DenialCause cause = DenialCause::kLimit;
  bool is_shadow = false;    // counted as a denial, and let pass
  std::uint16_t status = 0;  // what a proxy is told to send; 0: the caller is none
  std::uint32_t times = 1;
  std::uint32_t forgotten = 0;  // one entry of a second counts those of it that have no place
  std::uint64_t key_hash = 0;
  std::int64_t cost = 0;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  Duration retry_after{};  // the longest; zero: waiting does not help
  IpAddress client{};      // ::, if it is unknown or texts are not kept
  DenialDoor door = DenialDoor::kHttp;
  std::uint8_t method = 0;        // method_name()
  std::array<char, 2> country{};  // in capitals; zeros: unknown
};
// What the request said.
struct DenialTexts {
  std::string_view method{};
  std::string_view key{};
  std::string_view path{};
  std::string_view country{};
};
struct DenialRecord : DenialFacts {
  std::string key{};   // its first bytes; empty: texts are not kept
  std::string path{};  // likewise, or it is unknown
};

// Entries of several cores as if one core had counted them all. The earliest first.
std::vector<DenialRecord> added_up(std::vector<DenialRecord> denials);

// A line for a log: nothing in it controls a terminal. `rule`: its id; empty: there is none.
std::string to_text(const DenialRecord& denial, std::string_view rule);

class CoreDenials {
 public:
  static constexpr std::size_t kPerSecond = 8;
  static constexpr std::size_t kPlaces = 8'192;
  static constexpr std::size_t kTextMax = 64;  // bytes of a key, and of a path

  // What is kept of a text: no part of a character.
  static std::string_view kept(std::string_view text) noexcept;

  // From now on entries have keys, paths and clients, too.
  void keep_texts() noexcept { keeps_texts_.store(1, std::memory_order_relaxed); }

  void add(DenialFacts facts, DenialTexts texts) noexcept;

  // visit(denial) for each entry whose second is from `first` to `last`, of 1970, in no order.
  template <typename Visit>
  void each(std::int64_t first, std::int64_t last, Visit visit) const {
    for (const Place& place : places_) {
      const auto denial = place.read(first, last);
      if (denial) visit(*denial);
    }
  }

  // From which second on no entry has made room for a later one; the least if none had to.
  std::int64_t whole_since() const;

  static std::int64_t second_of(Instant at) noexcept {
    return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  }

 private:
  static_assert(kPlaces % kPerSecond == 0);
  static_assert(std::is_trivially_copyable_v<DenialFacts> && sizeof(DenialFacts) % 8 == 0);
  static constexpr std::size_t kFactWords = sizeof(DenialFacts) / 8;
  using Text = std::array<std::atomic<std::uint64_t>, kTextMax / 8>;

  // A writer makes `version` odd, writes, and makes it even. A reader that meets an odd one, or
  // another one afterwards, has read nothing. The fences pair with each other.
  struct Place {
    std::atomic<std::uint64_t> version{0};  // 0: nothing was ever here
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

  // What the owner knows of the entries of this second without reading them.
  enum class Turn : std::uint32_t { kFirst, kFurther };  // of its rule in this second
  struct Own {
    std::uint64_t name = 0;  // of rule, key and cause
    Duration retry_after{};
    std::uint32_t times = 0;
    RuleNumber rule = kNoRuleNumber;
    Turn turn = Turn::kFirst;
  };
  std::size_t place_of(std::size_t index) const noexcept { return (begin_ + index) % kPlaces; }
  std::size_t room_for(const Own& entry) noexcept;
  void tell_times(std::size_t index) noexcept;

  std::atomic<std::uint32_t> keeps_texts_{0};
  std::uint32_t forgotten_ = 0;  // in this second
  // Entries that this second has had for each turn, those that had to go among them.
  std::array<std::uint32_t, 2> seen_{};
  std::int64_t second_ = 0;
  std::uint64_t begin_ = 0;   // the place of this second's first entry
  std::size_t size_ = 0;      // this second's entries
  std::uint64_t chance_ = 0;  // the generator's state
  std::array<Own, kPerSecond> own_{};
  std::array<Place, kPlaces> places_{};
};

}  // namespace weir
