// A service's messages to the manager that started it: systemd, by its notify protocol, which is
// one datagram to the Unix socket that the environment names.
//
// Thread rule: main's thread, which alone changes the environment. Tested by
// service_manager_test.cc.

#pragma once

#include <cstdint>

namespace weir {

enum class ServiceState : std::uint8_t { kReady, kStopping };

// Does nothing if no manager waits. It never blocks and cannot fail: a manager that does not listen
// ends the service by its own timeout, whatever the service does.
void notify_service_manager(ServiceState state);

}  // namespace weir
