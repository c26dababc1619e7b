#include "suggest/endpoints.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::lab {
namespace {

TEST(Endpoints, FoldsIds) {
  EXPECT_EQ(folded("/"), "/");
  EXPECT_EQ(folded("/users"), "/users");
  EXPECT_EQ(folded("/users/123"), "/users/*");
  EXPECT_EQ(folded("/users/123/posts"), "/users/*/posts");
  EXPECT_EQ(folded("/v1/x/6f9619ff-8b86-d011-b42d-00cf4fc964ff"), "/v1/x/*");
  EXPECT_EQ(folded("/v1/deadbeef0"), "/v1/*");
  EXPECT_EQ(folded("/facade"), "/facade");
  EXPECT_EQ(folded("/img/logo.png"), "/img/*");
  EXPECT_EQ(folded("/a/it*em"), "/a/*");
  EXPECT_EQ(folded("/a/" + std::string(31, 'x')), "/a/*");
  EXPECT_EQ(folded("/1/2/3/4/5/6/7/8/9"), "/*/*/*/*/*/*/*");
  EXPECT_EQ(folded("/a/"), "/a/");
  EXPECT_EQ(folded("/\"\n"), "/*");
}

TEST(Endpoints, FoldsManySiblingsAndNamesTheNarrowFirst) {
  Endpoints endpoints;
  for (int i = 0; i < 40; ++i) {
    const std::string slug(1 + static_cast<std::size_t>(i % 20), static_cast<char>('a' + i / 20));
    for (int k = 0; k < 3; ++k) endpoints.count("GET", "/blog/" + slug);
  }
  for (int i = 0; i < 100; ++i) {
    endpoints.count("HEAD", "/users/" + std::to_string(i));
    endpoints.count("GET", "/users/" + std::to_string(i) + "/posts");
    endpoints.count("POST", "/login");
    endpoints.count("B@D", "/login");
  }
  endpoints.count("GET", "/rare");
  EXPECT_EQ(endpoints.best(), (std::vector<Endpoint>{{"POST", "/login", 100},
                                                     {"GET", "/users/*/posts", 100},
                                                     {"GET", "/blog/*", 120},
                                                     {"GET", "/users/*", 100}}));
}

TEST(Endpoints, AreBounded) {
  Endpoints endpoints;
  for (std::size_t i = 0; i < 2 * Endpoints::kPathsMax; ++i) {
    std::string name;
    for (std::size_t rest = i; rest > 0; rest /= 26) name += static_cast<char>('a' + rest % 26);
    endpoints.count("GET", "/" + name + "/x");
  }
  EXPECT_LE(endpoints.best().size(), Endpoints::kShown);
}

}  // namespace
}  // namespace weir::lab
