#include "net/server.h"

#include <pthread.h>

#include <string>
#include <utility>

#include "base/assert.h"

namespace weir {

std::variant<std::unique_ptr<Server>, StartError> Server::open(
    const std::vector<Endpoint>& endpoints, const ServerOptions& options, const Clock& clock) {
  WEIR_ASSERT(!endpoints.empty() && !endpoints.front().factories.empty());
  auto server =
      std::unique_ptr<Server>(new Server(endpoints.front().factories.size(), options, clock));
  for (const auto& endpoint : endpoints) {
    auto listening = server->listen(endpoint);
    if (auto* error = std::get_if<StartError>(&listening)) return std::move(*error);
  }
  return server;
}

Server::Server(std::size_t cores, const ServerOptions& options, const Clock& clock)
    : budget_(options.connections_max) {
  for (std::size_t i = 0; i < cores; ++i) cores_.push_back(std::make_unique<Core>(clock, budget_));
}

std::variant<std::monostate, StartError> Server::listen(const Endpoint& endpoint) {
  WEIR_ASSERT(endpoint.factories.size() == cores_.size());
  auto address = endpoint.address;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    auto opened = i == 0 ? listen_first(address) : listen_again(address);
    if (auto* error = std::get_if<StartError>(&opened)) return std::move(*error);
    auto& socket = std::get<UniqueFd>(opened);
    if (i == 0) address = Address::of_socket(socket.get());  // port 0: what the others share
    if (!cores_[i]->listen(std::move(socket), *endpoint.factories[i])) {
      return StartError{"the system has no room for another watched socket"};
    }
  }
  addresses_.push_back(address);
  return std::monostate();
}

void Server::start() {
  WEIR_ASSERT(threads_.empty());
  running_.store(cores_.size(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    threads_.emplace_back([this, i] { run_core(i); });
  }
}

void Server::run_core(std::size_t core) {
  ::pthread_setname_np(::pthread_self(), ("weir-core-" + std::to_string(core)).c_str());
  cores_[core]->run();
  cut_off_.fetch_add(cores_[core]->cut_off(), std::memory_order_relaxed);
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) stopped_.open();
}

void Server::post(std::size_t core, std::function<void()> action) {
  cores_[core]->loop().post(std::move(action));
}

void Server::drain(Duration patience) {
  for (const auto& core : cores_) {
    core->loop().post([&core = *core, patience] { core.drain(patience); });
  }
}

Server::~Server() {
  if (threads_.empty()) return;
  drain(Duration{0});
  for (auto& thread : threads_) thread.join();
}

}  // namespace weir
