#include "net/loop/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Event = Signals::Event;

TEST(Signals, AreWaitedForInTurn) {
  const auto signals = Signals({SIGHUP, SIGTERM});
  const auto gate = Gate();
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(signals.wait(gate, -1, 1h).signal, SIGTERM);
  ::kill(::getpid(), SIGHUP);
  const auto awaited = signals.wait(gate, -1, 1h);
  EXPECT_EQ(awaited.event, Event::kSignal);
  EXPECT_EQ(awaited.signal, SIGHUP);
}

TEST(Signals, AnOpenGateEndsTheWait) {
  const auto signals = Signals({SIGHUP});
  auto gate = Gate();
  auto opener = std::thread([&] { gate.open(); });
  EXPECT_EQ(signals.wait(gate, -1, 1h).event, Event::kGateOpen);
  EXPECT_EQ(signals.wait(gate, -1, 1h).event, Event::kGateOpen);  // it stays open
  gate.wait();
  opener.join();
}

TEST(Signals, SoDoesADescriptorAndTime) {
  const auto signals = Signals({SIGHUP});
  const auto gate = Gate();
  auto other = Gate();
  EXPECT_EQ(signals.wait(gate, other.fd(), 1us).event, Event::kTime);
  other.open();
  EXPECT_EQ(signals.wait(gate, other.fd(), 1h).event, Event::kReadable);
}

}  // namespace
}  // namespace weir
