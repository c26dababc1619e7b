// ConnectionBudget: how many connections the process may hold, and what became of them.
//
// One for all cores: which core a connection lands on is the kernel's choice, so a
// share a core would refuse clients while another core has room. It is touched when a
// connection comes or goes, not by requests.
//
// Thread rule: any thread. All counters are relaxed: no other memory depends on them.
// Tested by server_test.cc.

#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

struct ConnectionFigures {
  std::uint64_t open = 0;
  std::uint64_t max = 0;
  std::uint64_t accepted = 0;           // since the start
  std::uint64_t refused = 0;            // beyond max: reset at once
  std::uint64_t stalled = 0;            // dropped because the peer did not read its replies
  std::uint64_t failed_handshakes = 0;  // of TLS, those that took too long among them
  std::uint64_t refused_headers = 0;    // of the PROXY protocol, likewise
};

class ConnectionBudget {
 public:
  explicit ConnectionBudget(std::uint64_t max) : max_(max) {}

  // For a new connection: true if there is room, which give_back() returns.
  bool take() {
    if (open_.fetch_add(1, kRelaxed) < max_) {
      accepted_.fetch_add(1, kRelaxed);
      return true;
    }
    open_.fetch_sub(1, kRelaxed);
    refused_.fetch_add(1, kRelaxed);
    return false;
  }
  void give_back() { open_.fetch_sub(1, kRelaxed); }
  void count_stalled() { stalled_.fetch_add(1, kRelaxed); }
  void count_failed_handshake() { failed_handshakes_.fetch_add(1, kRelaxed); }
  void count_refused_header() { refused_headers_.fetch_add(1, kRelaxed); }

  ConnectionFigures figures() const {
    return {.open = open_.load(kRelaxed),
            .max = max_,
            .accepted = accepted_.load(kRelaxed),
            .refused = refused_.load(kRelaxed),
            .stalled = stalled_.load(kRelaxed),
            .failed_handshakes = failed_handshakes_.load(kRelaxed),
            .refused_headers = refused_headers_.load(kRelaxed)};
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  const std::uint64_t max_;
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> stalled_{0};
  std::atomic<std::uint64_t> failed_handshakes_{0};
  std::atomic<std::uint64_t> refused_headers_{0};
};

}  // namespace weir
