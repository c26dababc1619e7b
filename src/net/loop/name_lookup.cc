#include "net/loop/name_lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "net/sockets/address.h"

namespace weir {

struct NameLookup::Desk {
  std::mutex mutex;           // guards all
  EventLoop* loop = nullptr;  // null: no asker is left
  std::size_t waiting = 0;
};

namespace {

NameLookup::Answer look_up(const std::string& name) {
  const auto hints = addrinfo{.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (error != 0) return {.addresses = {}, .fault = ::gai_strerror(error)};
  NameLookup::Answer answer;
  for (const auto* entry = found; entry != nullptr; entry = entry->ai_next) {
    const auto address = ip_address_of(entry->ai_addr);
    if (!address || answer.addresses.size() == NameLookup::kAddressesMax) continue;
    answer.addresses.push_back(*address);
  }
  ::freeaddrinfo(found);
  if (answer.addresses.empty()) answer.fault = "the name has no address";
  return answer;
}

}  // namespace

NameLookup::NameLookup(EventLoop& loop) : desk_(std::make_shared<Desk>()) { desk_->loop = &loop; }

NameLookup::~NameLookup() {
  const auto lock = std::scoped_lock(desk_->mutex);
  desk_->loop = nullptr;
}

bool NameLookup::ask(const std::string& name, std::function<void(const Answer&)> answered) {
  {
    const auto lock = std::scoped_lock(desk_->mutex);
    if (desk_->waiting == kLookupsMax) return false;
    ++desk_->waiting;
  }
  const auto work = [desk = desk_, name, answered = std::move(answered)] {
    auto answer = look_up(name);
    const auto lock = std::scoped_lock(desk->mutex);
    --desk->waiting;
    if (desk->loop == nullptr) return;
    desk->loop->post([answered, answer = std::move(answer)] { answered(answer); });
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    const auto lock = std::scoped_lock(desk_->mutex);
    --desk_->waiting;
    return false;
  }
  return true;
}

}  // namespace weir
