#include "net/server.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/if_memory.h"

namespace weir {
namespace {

// In TLS's form: each protocol with its length before it.
std::string alpn_list(const std::vector<std::string>& protocols) {
  auto list = std::string();
  for (const auto& protocol : protocols) {
    list += static_cast<char>(protocol.size());
    list += protocol;
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<Server>, Fault> Server::open(const std::vector<Endpoint>& endpoints,
                                                    const ServerOptions& options,
                                                    const Clock& clock) {
  WEIR_ASSERT(!endpoints.empty() && !endpoints.front().factories.empty());
  auto server =
      std::unique_ptr<Server>(new Server(endpoints.front().factories.size(), options, clock));
  for (const auto& endpoint : endpoints) {
    if (auto error = server->listen(endpoint)) return std::move(*error);
  }
  return server;
}

Server::Server(std::size_t cores, const ServerOptions& options, const Clock& clock)
    : options_(options),
      budget_(options.connections_max, options.buffered_max),
      shedding_(cores),
      admission_(options.admission) {
  for (std::size_t i = 0; i < cores; ++i) {
    cores_.push_back(std::make_unique<Core>(clock, budget_));
    cores_.back()->dialer().use_tls(options.trust);
    cores_.back()->when_over([this] { shed(); });
  }
}

std::optional<Fault> Server::listen(const Endpoint& endpoint) {
  WEIR_ASSERT(endpoint.factories.size() == cores_.size());
  auto opened = listen_on(endpoint.address, cores_.size());
  if (!opened) return std::move(opened.error());
  auto& listening = *opened;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    auto doorway = Doorway{.factory = endpoint.factories[i],
                           .security = endpoint.security,
                           .proxy_protocol = endpoint.proxy_protocol,
                           .alpn = alpn_list(endpoint.alpn),
                           .admission = &admission_};
    if (!cores_[i]->listen(std::move(listening.sockets[i]), std::move(doorway))) {
      return Fault{"the system has no room for another watched socket"};
    }
  }
  addresses_.push_back(listening.address);
  socket_files_.push_back(std::move(listening.file));
  return std::nullopt;
}

void Server::start() {
  WEIR_ASSERT(threads_.empty());
  running_.store(cores_.size(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    threads_.emplace_back([this, i] { run_core(i); });
  }
}

void Server::open_doors() {
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    post(i, [&core = *cores_[i]] { core.open_doors(); });
  }
}

void Server::run_core(std::size_t core) {
  ::pthread_setname_np(::pthread_self(), ("weir-core-" + std::to_string(core)).c_str());
  auto& served = *cores_[core];
  if (options_.core_begins) options_.core_begins(core, served.loop(), served.dialer());
  Core::Lodger lodger;
  if (options_.core_leaves) lodger.leave = [this, core] { return options_.core_leaves(core); };
  if (options_.core_ends) lodger.end = [this, core] { options_.core_ends(core); };
  served.run(std::move(lodger));
  cut_off_.fetch_add(cores_[core]->cut_off(), std::memory_order_relaxed);
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) stopped_.open();
}

void Server::post(std::size_t core, std::function<void()> action) {
  cores_[core]->loop().post(std::move(action));
}

// The counters outlive a caller that has lost patience.
bool Server::run_on_all(const std::function<void(std::size_t core)>& action, Duration patience) {
  struct Missing {
    std::mutex mutex;
    std::condition_variable none;
    std::size_t cores;
  };
  const auto missing = std::make_shared<Missing>();
  missing->cores = cores_.size();
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    has_memory_for([&] {
      post(i, [missing, action, i] {
        action(i);
        const std::scoped_lock lock(missing->mutex);
        if (--missing->cores == 0) missing->none.notify_one();
      });
    });
  }
  auto lock = std::unique_lock(missing->mutex);
  return missing->none.wait_for(lock, patience, [&] { return missing->cores == 0; });
}

// On any core that notices it; each core sheds its own. A stopped core holds no connections, and
// does not keep the others waiting.
void Server::shed() {
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    if (shedding_[i].exchange(true)) continue;
    const auto action = [this, i] {
      const std::size_t count = cores_[i]->shed();
      shedding_[i].store(false);
      if (count > 0 && options_.on_shed) options_.on_shed(count);
    };
    if (!has_memory_for([&] { post(i, action); })) shedding_[i].store(false);
  }
}

void Server::drain(Duration patience) {
  socket_files_.clear();
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
