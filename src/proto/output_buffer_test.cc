#include "proto/output_buffer.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(OutputBuffer, KeepsTheOrder) {
  OutputBuffer buffer;
  buffer.append("one ");
  buffer.append("");
  buffer.append("two");
  EXPECT_EQ(buffer.view(), "one two");
  buffer.consume(4);
  EXPECT_EQ(buffer.view(), "two");
  buffer.consume(3);
  EXPECT_TRUE(buffer.empty());
}

TEST(OutputBuffer, PositionsOutliveMoves) {
  OutputBuffer buffer;
  buffer.append("0123456789");
  buffer.consume(5);
  const std::size_t position = buffer.position();
  EXPECT_EQ(position, 10u);
  buffer.append("x");
  buffer.append(std::string(100'000, 'y'));
  buffer.consume(3);
  *buffer.at(position) = 'X';
  EXPECT_EQ(buffer.view().substr(0, 4), "89Xy");
}

TEST(OutputBuffer, WritesConstantTextsFromWhereTheyAre) {
  constexpr std::string_view kConstant = "constant";
  OutputBuffer buffer;
  buffer.append("head ");
  buffer.append_constant(kConstant);
  buffer.append_constant(kConstant);
  const std::size_t tail = buffer.position();
  buffer.append(" tail");
  EXPECT_EQ(buffer.size(), 26u);
  EXPECT_EQ(buffer.view(), "head ");
  *buffer.at(tail) = '!';

  OutputBuffer copy;
  copy.append("before ");
  copy.append(buffer);
  std::string all;
  for (; !copy.empty(); copy.consume(1)) all += copy.view().front();
  EXPECT_EQ(all, "before head constantconstant!tail");

  buffer.consume(6);
  EXPECT_EQ(buffer.view().data(), kConstant.data() + 1);
  buffer.consume(7 + 8 + 1);
  EXPECT_EQ(buffer.view(), "tail");
  buffer.consume(4);
  EXPECT_TRUE(buffer.empty());
}

TEST(OutputBuffer, IsAQueueOfBytes) {
  std::mt19937 random(1);
  OutputBuffer buffer;
  std::string model;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text(random() % 1'000, static_cast<char>('a' + i % 26));
    buffer.append(text);
    model += text;
    const std::size_t taken = random() % 3 == 0 ? model.size() : random() % (model.size() + 1);
    buffer.consume(taken);
    model.erase(0, taken);
    ASSERT_EQ(buffer.view(), model);
  }
}

}  // namespace
}  // namespace weir
