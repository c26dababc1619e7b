// NameLookup: looks up the addresses of host names without making a core wait.
//
// The system's resolver blocks, perhaps for half a minute. So each question gets a thread of its
// own, which nobody joins: the asker may be gone when the answer comes. At most kLookupsMax
// questions wait at a time.
//
// Thread rule: one core; answers come on its loop. Tested by src/net/socket_dialer_test.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "net/loop/event_loop.h"

namespace weir {

class NameLookup {
 public:
  static constexpr std::size_t kLookupsMax = 8;
  static constexpr std::size_t kAddressesMax = 8;  // of one name

  struct Answer {
    std::vector<IpAddress> addresses;
    std::string fault;  // if there are no addresses
  };

  // `loop` must outlive this.
  explicit NameLookup(EventLoop& loop);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // Calls `answered` from the loop, later. False: too many wait already.
  [[nodiscard]] bool ask(const std::string& name, std::function<void(const Answer&)> answered);

 private:
  // Shared with the threads, which may outlive us.
  struct Desk;
  std::shared_ptr<Desk> desk_;
};

}  // namespace weir
