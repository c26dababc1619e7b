// A server that has its ports before it opens its doors.

#include <chrono>

#include "net/server.h"
#include "net/server_testing.h"

namespace weir {
namespace {

using std::chrono::seconds;

TEST_F(ServerTest, LetsNobodyInBeforeItsDoorsOpen) {
  opens_doors_ = false;
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("hello"));
  advance(seconds(2));  // a look at all connections, which takes up accepting
  EXPECT_EQ(server_->connections().open, 0);
  server_->open_doors();
  EXPECT_EQ(peer.receive(5), "hello");
}

TEST_F(ServerTest, ADrainBeforeItsDoorsOpenEndsIt) {
  opens_doors_ = false;
  start();
  server_->drain(seconds(60));
  server_->open_doors();
  server_->stopped().wait();
}

}  // namespace
}  // namespace weir
