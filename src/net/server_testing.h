// A server on a port of the system's choice and a clock moved by hand, for tests.

#pragma once

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "net/net_testing.h"
#include "net/server.h"

namespace weir {

class ServerTest : public testing::Test {
 protected:
  void start(std::size_t cores = 1, TestFactory::Make make = nullptr,
             const ServerOptions& options = {}) {
    if (make) factory_ = TestFactory(std::move(make));
    start({.address = address_of("127.0.0.1:0"),
           .factories = std::vector<SessionFactory*>(cores, &factory_)},
          options);
  }
  void start(const Endpoint& endpoint, const ServerOptions& options) {
    auto opened = Server::open({endpoint}, options, clock_);
    ASSERT_TRUE(opened.has_value());
    server_ = std::move(*opened);
    server_->start();
    if (opens_doors_) server_->open_doors();
  }

  TestClient client() { return TestClient(server_->address(0)); }

  // Returns when the core has handled all earlier events, alarms included.
  void let_core_run(std::size_t core = 0) {
    auto done = std::promise<void>();
    server_->post(core, [&done] { done.set_value(); });
    done.get_future().wait();
  }

  void advance(Duration step) {
    clock_.advance(step);
    for (std::size_t core = 0; core < server_->cores(); ++core) let_core_run(core);
  }

  ManualClock clock_;
  TestFactory factory_;
  bool opens_doors_ = true;
  std::unique_ptr<Server> server_;
};

}  // namespace weir
