#include "base/nearest_name.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::array<std::string_view, 6> kKeys = {"id",     "algorithm", "limit",
                                                   "window", "burst",     "enabled"};

TEST(EditDistance, CountsSlipsOfTheFingers) {
  EXPECT_EQ(edit_distance("limit", "limit"), 0u);
  EXPECT_EQ(edit_distance("limit", "LIMIT"), 0u);
  EXPECT_EQ(edit_distance("limt", "limit"), 1u);
  EXPECT_EQ(edit_distance("limiit", "limit"), 1u);
  EXPECT_EQ(edit_distance("limot", "limit"), 1u);
  EXPECT_EQ(edit_distance("lmiit", "limit"), 1u);  // swapped
  EXPECT_EQ(edit_distance("", "limit"), 5u);
  EXPECT_EQ(edit_distance("limit", ""), 5u);
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // each letter is moved at most once
}

TEST(EditDistance, IsSymmetric) {
  for (const std::string_view a : kKeys) {
    for (const std::string_view b : kKeys) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
  }
}

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("limt", kKeys), "limit");
  EXPECT_EQ(nearest_name("Limit", kKeys), "limit");
  EXPECT_EQ(nearest_name("widnow", kKeys), "window");
  EXPECT_EQ(nearest_name("windows", kKeys), "window");
  EXPECT_EQ(nearest_name("enable", kKeys), "enabled");
  EXPECT_EQ(nearest_name("algo", kKeys), "algorithm");
  EXPECT_EQ(nearest_name("algoritm", kKeys), "algorithm");
  EXPECT_EQ(nearest_name("ID", kKeys), "id");
  EXPECT_EQ(nearest_name("idd", kKeys), "id");
}

TEST(NearestName, DoesNotGuess) {
  for (const std::string_view name : {"", "x", "rate", "period", "al", "li", "mode"}) {
    EXPECT_EQ(nearest_name(name, kKeys), "") << name;
  }
  EXPECT_EQ(nearest_name("limit", {}), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'l'), kKeys), "");
}

TEST(NearestName, CompletesOnlyWhatIsUnambiguous) {
  constexpr std::array<std::string_view, 3> kNames = {"max_keys", "max_wide_keys", "threads"};
  EXPECT_EQ(nearest_name("max", kNames), "");
  EXPECT_EQ(nearest_name("max_k", kNames), "max_keys");
  EXPECT_EQ(nearest_name("thr", kNames), "threads");
}

TEST(NameHint, OffersTheNameOrAllOfThem) {
  EXPECT_EQ(name_hint("limt", kKeys), "did you mean 'limit'?");
  EXPECT_EQ(name_hint("colour", kKeys),
            "expected one of id, algorithm, limit, window, burst, enabled");
  EXPECT_EQ(name_hint("colour", std::span(kKeys).first(1)), "expected id");
}

}  // namespace
}  // namespace weir
