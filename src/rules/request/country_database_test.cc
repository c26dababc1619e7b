#include "rules/request/country_database.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/request/country_file_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr CountryNetwork kNetworks[] = {
    {"192.0.2.0", 24, "DE"}, {"198.51.100.0", 25, "FR"}, {"2001:db8::", 32, "JP"}};

class CountryDatabaseTest : public testing::Test {
 protected:
  CountryDatabaseTest() { std::filesystem::create_directories(folder_); }
  ~CountryDatabaseTest() override { std::filesystem::remove_all(folder_); }

  // Replaces the file as updaters do: an open file stays unchanged.
  Result<CountryDatabase::Ptr, Fault> open(const std::string& bytes) const {
    const auto path = folder_ / "countries.mmdb";
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return CountryDatabase::open(path.string());
  }

  std::string mistake(const std::string& bytes) const {
    const auto opened = open(bytes);
    return opened ? std::string() : opened.error().message;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "weir_country_database_test";
};

std::string_view country(const CountryDatabase& database, std::string_view address) {
  return database.country(*IpAddress::parse(address));
}

TEST_F(CountryDatabaseTest, KnowsTheCountryOfAnAddress) {
  const auto opened = open(country_file(kNetworks));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const CountryDatabase& database = **opened;
  EXPECT_EQ(country(database, "192.0.2.0"), "DE");
  EXPECT_EQ(country(database, "192.0.2.255"), "DE");
  EXPECT_EQ(country(database, "::ffff:192.0.2.7"), "DE");
  EXPECT_EQ(country(database, "198.51.100.127"), "FR");
  EXPECT_EQ(country(database, "198.51.100.128"), "");
  EXPECT_EQ(country(database, "192.0.3.0"), "");
  EXPECT_EQ(country(database, "2001:db8:ffff::1"), "JP");
  EXPECT_EQ(country(database, "2001:db9::1"), "");
  EXPECT_EQ(country(database, "::"), "");
}

TEST_F(CountryDatabaseTest, BelievesNothingButTwoLetters) {
  constexpr CountryNetwork kOdd[] = {{"192.0.2.0", 24, "DE"}, {"198.51.100.0", 24, "Germany"}};
  const auto opened = open(country_file(kOdd));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(country(**opened, "198.51.100.1"), "");
}

TEST_F(CountryDatabaseTest, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(mistake(""), HasSubstr("no database in MaxMind's format"));
  EXPECT_THAT(mistake("DE,192.0.2.0/24\n"), HasSubstr("no database in MaxMind's format"));
  EXPECT_THAT(mistake(country_file(kNetworks, "autonomous_system")),
              HasSubstr("no country is in it, since it is of the type 'Test-Country'"));
  EXPECT_THAT(mistake(country_file({})), HasSubstr("no country is in it"));
  const auto missing = CountryDatabase::open((folder_ / "none.mmdb").string());
  EXPECT_EQ(missing.error().message, "it cannot be opened");
  const auto directory = CountryDatabase::open(folder_.string());
  EXPECT_FALSE(directory.has_value());
}

// The metadata is at the end, so no part of a file is taken for the whole.
TEST_F(CountryDatabaseTest, RefusesAFileThatIsCutOff) {
  const std::string whole = country_file(kNetworks);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(mistake(whole.substr(0, size)), "") << size;
  }
}

// Bytes are changed, or cut out of the middle: this gives an error, or some answer.
TEST_F(CountryDatabaseTest, SurvivesBrokenFiles) {
  const std::string whole = country_file(kNetworks);
  std::mt19937 random(1);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  int opened_ones = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string broken = whole;
    if (round % 4 == 0) broken.erase(below(broken.size()), below(64));
    for (std::size_t i = below(8) + 1; i > 0; --i) {
      broken[below(broken.size())] = static_cast<char>(below(256));
    }
    const auto opened = open(broken);
    if (!opened) continue;
    ++opened_ones;
    for (const CountryNetwork& network : kNetworks) {
      EXPECT_LE(country(**opened, network.address).size(), 2u);
    }
  }
  EXPECT_GT(opened_ones, 100);
}

}  // namespace
}  // namespace weir
