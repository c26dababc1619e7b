#include "proto/input_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace weir {
namespace {

void put(InputBuffer& buffer, std::string_view text) {
  const auto space = buffer.space();
  ASSERT_GE(space.size(), text.size());
  std::memcpy(space.data(), text.data(), text.size());
  buffer.received(text.size());
}

TEST(InputBuffer, HoldsWhatIsNotConsumed) {
  InputBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  put(buffer, "hello ");
  put(buffer, "world");
  EXPECT_EQ(buffer.text(), "hello world");
  buffer.consume(6);
  EXPECT_EQ(buffer.text(), "world");
  buffer.truncate(1);
  EXPECT_EQ(buffer.text(), "w");
  put(buffer, "eir");
  EXPECT_EQ(buffer.text(), "weir");
}

TEST(InputBuffer, GrowsOnlyWhileReadsFillIt) {
  InputBuffer buffer;
  EXPECT_EQ(buffer.space().size(), InputBuffer::kInitial);
  for (int i = 0; i < 100; ++i) {
    put(buffer, "small");
    buffer.consume(5);
  }
  EXPECT_EQ(buffer.space().size(), InputBuffer::kInitial);
  for (int i = 0; i < 100; ++i) {
    const std::size_t size = buffer.space().size();
    buffer.received(size);
    buffer.consume(size);
  }
  EXPECT_EQ(buffer.space().size(), InputBuffer::kComfortable);
}

TEST(InputBuffer, GrowsWithALargeBodyAndGivesItBack) {
  InputBuffer buffer;
  put(buffer, "head");
  std::size_t size = 4;
  while (size < 1 << 20) {
    const std::size_t space = buffer.space().size();
    EXPECT_LE(space, std::max(2 * size, InputBuffer::kComfortable)) << "more than has arrived";
    buffer.received(space);
    size += space;
  }
  EXPECT_EQ(buffer.text().substr(0, 4), "head");
  buffer.consume(size);
  EXPECT_EQ(buffer.space().size(), InputBuffer::kInitial);
}

TEST(InputBuffer, MovesOnlyWhenSpaceGetsShort) {
  InputBuffer buffer;
  put(buffer, std::string(1'500, 'x').append("rest"));
  buffer.consume(1'500);
  const char* const place = buffer.text().data();
  EXPECT_GE(buffer.space().size(), InputBuffer::kInitial / 2);
  EXPECT_EQ(buffer.text().data(), place);
  put(buffer, std::string(700, 'y'));
  EXPECT_GE(buffer.space().size(), InputBuffer::kInitial / 2);
  EXPECT_NE(buffer.text().data(), place);
  EXPECT_EQ(buffer.text(), "rest" + std::string(700, 'y'));
}

TEST(InputBuffer, NeverRunsOutOfSpace) {
  InputBuffer buffer;
  std::string model;
  for (int i = 0; i < 2'000; ++i) {
    const auto space = buffer.space();
    ASSERT_GE(space.size(), InputBuffer::kSpaceMin);
    const std::string text(i % 7 == 0 ? space.size() : InputBuffer::kSpaceMin,
                           static_cast<char>('a' + i % 26));
    put(buffer, text);
    model += text;
    const std::size_t taken = i % 5 == 0 ? model.size() : model.size() / 3;
    buffer.consume(taken);
    model.erase(0, taken);
    ASSERT_EQ(buffer.text(), model);
  }
}

TEST(InputBuffer, PaddingMayBeRead) {
  InputBuffer buffer;
  const std::size_t size = buffer.space().size();
  buffer.received(size);
  const char* const end = buffer.data().data() + size;
  for (std::size_t i = 0; i < InputBuffer::kPadding; ++i) EXPECT_EQ(end[i], '\0');
}

}  // namespace
}  // namespace weir
