// LoginGuard: how often clients may guess passwords and tokens.
//
// Each wrong guess counts against the network that it came from: an IPv4 address, the /64 of an
// IPv6 address, or all Unix sockets together. A network may make kBurst wrong guesses at once and
// one more each kPause; then the doors refuse it before they compare anything, until it has
// waited. So a guesser gains nothing by opening connections.
//
// The memory is fixed: networks share kCounters counters by a hash under a secret. Nobody is
// forgotten, nobody can aim at another's counter, and guessers with any number of addresses make
// kCounters guesses each kPause, 682 a second, together.
//
// Such guessers use up all counters. The kKnown networks that last sent something right have
// counters of their own beside, which only their own guesses use up: their owners get in.
//
// A right secret clears nothing, and its first guess there comes after kPause: who knows one
// secret, and has many addresses, gains kKnown guesses each kPause at the other.
//
// Thread rule: any thread. Tested by login_guard_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/ip_address.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

class LoginGuard {
 public:
  static constexpr int kBurst = 10;
  static constexpr Duration kPause = std::chrono::seconds(6);
  static constexpr std::size_t kCounters = 4096;
  static constexpr std::size_t kKnown = 64;

  // `hasher` must outlive the guard.
  explicit LoginGuard(const KeyHasher& hasher) : hasher_(hasher) {}

  // How long a client must wait before the door may compare what it sends; 0: now. Counts those
  // that must wait.
  Duration wait(const std::optional<IpAddress>& client, Instant now) noexcept {
    const KeyHash network = network_of(client);
    Duration wait = wait_until(instant_from_epoch_us(paid_at(network).load(kRelaxed)), now);
    if (wait == Duration::zero()) return wait;
    {
      const std::scoped_lock lock(mutex_);
      if (const Known* own = find(network)) wait = std::min(wait, wait_until(own->paid, now));
    }
    refused_.fetch_add(wait > Duration::zero() ? 1 : 0, kRelaxed);
    return wait;
  }

  // What the client sent was wrong.
  void failed(const std::optional<IpAddress>& client, Instant now) noexcept {
    failed_.fetch_add(1, kRelaxed);
    const KeyHash network = network_of(client);
    std::atomic<std::int64_t>& counter = paid_at(network);
    std::int64_t paid = counter.load(kRelaxed);
    std::int64_t next = 0;
    do {
      next = std::max(paid, epoch_us(now)) + kPause.count();
    } while (!counter.compare_exchange_weak(paid, next, kRelaxed));
    const std::scoped_lock lock(mutex_);
    if (Known* own = find(network)) own->paid = std::max(own->paid, now) + kPause;
  }

  // What the client sent was right.
  void succeeded(const std::optional<IpAddress>& client, Instant now) noexcept {
    const KeyHash network = network_of(client);
    const std::scoped_lock lock(mutex_);
    Known* own = find(network);
    if (own == nullptr) {
      own = &*std::ranges::min_element(known_, {}, &Known::last);
      *own = {.network = network, .paid = now + kBurst * kPause};
    }
    own->last = now;
  }

  struct Figures {
    std::uint64_t failed = 0;   // compared, and wrong
    std::uint64_t refused = 0;  // not compared
  };
  Figures figures() const noexcept {
    return {.failed = failed_.load(kRelaxed), .refused = refused_.load(kRelaxed)};
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr unsigned kNetworkBits = 64;  // of IPv6: what one subscriber has

  // A network that sent something right; `last` is when it last did.
  struct Known {
    KeyHash network{};
    Instant paid{};
    Instant last{};
  };

  static Duration wait_until(Instant paid, Instant now) {
    return std::max(paid - now - (kBurst - 1) * kPause, Duration::zero());
  }

  KeyHash network_of(const std::optional<IpAddress>& client) const noexcept {
    IpAddress network = client.value_or(IpAddress());
    if (!network.is_v4()) network = network.network(kNetworkBits);
    const std::string_view bytes(reinterpret_cast<const char*>(network.bytes().data()),
                                 network.bytes().size());
    return hasher_.hash({.rule = {}, .bucket = "failed logins", .key = bytes}, Quota());
  }

  std::atomic<std::int64_t>& paid_at(const KeyHash& network) noexcept {
    return paid_at_[network.low % kCounters];
  }

  Known* find(const KeyHash& network) noexcept {
    const auto found = std::ranges::find(known_, network, &Known::network);
    return found == known_.end() ? nullptr : &*found;
  }

  const KeyHasher& hasher_;
  // When all guesses of the networks of a counter are paid for, each by kPause; since 1970, in
  // microseconds. Relaxed: a counter orders nothing else.
  std::array<std::atomic<std::int64_t>, kCounters> paid_at_{};
  std::mutex mutex_;  // guards known_
  std::array<Known, kKnown> known_{};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weir
