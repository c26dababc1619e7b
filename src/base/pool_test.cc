#include "base/pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

TEST(Pool, HandsOutAgainWhatCameBack) {
  Pool<std::string> pool;
  const std::string* first = nullptr;
  {
    const auto text = pool.take();
    text->assign("grown");
    first = text.get();
  }
  const auto again = pool.take();
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(*again, "grown");
  EXPECT_NE(pool.take().get(), first);
}

TEST(Pool, KeepsNoMoreThanItsBound) {
  Pool<std::string> pool;
  std::vector<Pool<std::string>::Ptr> taken;
  for (std::size_t i = 0; i < 2 * Pool<std::string>::kSpareMax; ++i) taken.push_back(pool.take());
  taken.clear();  // objects without room are freed: a leak checker would tell
  EXPECT_NE(pool.take(), nullptr);
}

}  // namespace
}  // namespace weir
