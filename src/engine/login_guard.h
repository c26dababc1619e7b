// LoginGuard: limits how often clients may guess passwords and tokens.
//
// A guess counts before it is compared, against the network that it came from: an IPv4 address, the
// /64 of an IPv6 address, or all Unix sockets together. A right guess is then taken off again. A
// network may make kBurst wrong guesses at once and one more each kPause. After that its guesses
// are not compared until it has waited. So a guesser gains nothing by opening connections.
//
// The memory is fixed: networks share kCounters counters by a hash under a secret. Nobody is
// forgotten, and nobody can aim at another's counter. Guessers with any number of addresses make
// kCounters guesses each kPause together, 682 a second.
//
// A caller that a proxy names has a counter apart from the proxy's address and from callers without
// a proxy. Anybody at a trusted address can invent such callers. So all of them together make
// kNamedBurst guesses at once and one more each kNamedPause. These are too few to use up the
// counters: a caller without a proxy still gets in.
//
// Guessers with more addresses can use up all counters. So the kKnown networks that last sent a
// right secret also have counters of their own, which only their own guesses use up. Their owners
// get in even when named callers have used up what they may guess together.
//
// A right secret clears nothing, and its network's first guess there comes after kPause. Somebody
// who knows one secret and has many addresses gains kKnown guesses each kPause at another one.
//
// Thread rule: any thread. Tested by login_guard_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "base/ip_address.h"
#include "rules/request/client_address.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

class LoginGuard {
 public:
  static constexpr int kBurst = 10;
  static constexpr Duration kPause = std::chrono::seconds(6);
  static constexpr int kNamedBurst = 100;
  static constexpr Duration kNamedPause = std::chrono::milliseconds(10);
  static constexpr std::size_t kCounters = 4096;
  static constexpr std::size_t kKnown = 64;

  // `hasher` must outlive the guard.
  explicit LoginGuard(const KeyHasher& hasher) : hasher_(hasher) {}

  struct Verdict {
    bool is_right = false;
    Duration wait{0};  // above 0: the guess was not compared; the next may come then

    bool is_refused() const { return wait > Duration::zero(); }
  };

  // Counts a guess and lets `is_right` compare it, unless the caller must wait first. Meanwhile no
  // other guess is counted or compared.
  Verdict judge(const Caller& caller, const std::function<bool()>& is_right, Instant now) {
    const KeyHash network = hash_of(caller);
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(known_, network, &Known::network);
    const bool is_known = known != known_.end();
    Instant& paid = paid_[network.low % kCounters];
    Duration wait = wait_of(paid, kBurst, kPause, now);
    if (caller.is_named) {
      wait = std::max(wait, wait_of(named_paid_, kNamedBurst, kNamedPause, now));
    }
    if (is_known) wait = std::min(wait, wait_of(known->paid, kBurst, kPause, now));
    if (wait > Duration::zero()) {
      ++figures_.refused;
      return {.wait = wait};
    }
    ++figures_.failed;
    paid = std::max(paid, now) + kPause;
    if (caller.is_named) named_paid_ = std::max(named_paid_, now) + kNamedPause;
    if (is_known) known->paid = std::max(known->paid, now) + kPause;
    if (!is_right()) return {};
    --figures_.failed;
    paid -= kPause;
    if (caller.is_named) named_paid_ -= kNamedPause;
    if (is_known) {
      known->paid -= kPause;
      known->last = now;
    } else {
      *std::ranges::min_element(known_, {}, &Known::last) = {
          .network = network, .paid = now + kBurst * kPause, .last = now};
    }
    return {.is_right = true};
  }

  struct Figures {
    std::uint64_t failed = 0;   // compared, but wrong
    std::uint64_t refused = 0;  // not compared
  };
  Figures figures() const {
    const std::scoped_lock lock(mutex_);
    return figures_;
  }

 private:
  // A network that sent a right secret, last at `last`.
  struct Known {
    KeyHash network{};
    Instant paid{};
    Instant last{};
  };

  // `paid`: when all guesses so far are paid for, each with a pause.
  static Duration wait_of(Instant paid, int burst, Duration pause, Instant now) {
    return std::max(paid - now - (burst - 1) * pause, Duration::zero());
  }

  KeyHash hash_of(const Caller& caller) const noexcept {
    const IpAddress network = caller.network().address.value_or(IpAddress());
    const std::string_view bytes(reinterpret_cast<const char*>(network.bytes().data()),
                                 network.bytes().size());
    const std::string_view bucket = caller.is_named ? "failed logins, named" : "failed logins";
    return hasher_.hash({.rule = {}, .bucket = bucket, .key = bytes}, Quota());
  }

  const KeyHasher& hasher_;
  mutable std::mutex mutex_;  // guards all below
  std::array<Instant, kCounters> paid_{};
  Instant named_paid_{};
  std::array<Known, kKnown> known_{};
  Figures figures_;
};

}  // namespace weir
