#include "net/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace weir {
namespace {

TEST(Signals, AreWaitedForInTurn) {
  const auto signals = Signals({SIGHUP, SIGTERM});
  const auto gate = Gate();
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(signals.wait(gate), SIGTERM);
  ::kill(::getpid(), SIGHUP);
  EXPECT_EQ(signals.wait(gate), SIGHUP);
}

TEST(Signals, AnOpenGateEndsTheWait) {
  const auto signals = Signals({SIGHUP});
  auto gate = Gate();
  auto opener = std::thread([&] { gate.open(); });
  EXPECT_EQ(signals.wait(gate), 0);
  EXPECT_EQ(signals.wait(gate), 0);  // it stays open
  gate.wait();
  opener.join();
}

}  // namespace
}  // namespace weir
