#include "rulebook/tenants/tenant_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

namespace weir {
namespace {

using namespace std::chrono_literals;

class TenantReaderTest : public ::testing::Test {
 protected:
  // What is wrong with the text; empty: nothing.
  std::string read(std::string_view text) {
    TenantReader reader(none_, {"gold", "iron", std::string(65, 'p')});
    reader.read(text);
    reader.finish();
    if (reader.mistakes().empty()) table_ = none_->edited(reader.take()).table;
    return reader.mistakes();
  }
  std::optional<TenantTerms> found(std::string_view key) const { return table_->find(key); }

  const TenantTablePtr none_ = std::make_shared<const TenantTable>(HashSecret{});
  TenantTablePtr table_ = none_;
};

TEST_F(TenantReaderTest, ReadsLinesOfJson) {
  EXPECT_EQ(read("{\"key\": \"ann\", \"plan\": \"gold\"}\r\n\n"
                 "{\"limit\": 5000, \"key\": \"b\\\"ob\"}\n"
                 "{\"key\": \"eve\", \"limit\": 0, \"window\": \"1h\", \"plan\": null}"),
            "");
  EXPECT_EQ(table_->size(), 3u);
  EXPECT_EQ(found("ann"), (TenantTerms{.plan = "gold"}));
  EXPECT_EQ(found("b\"ob"), (TenantTerms{.limit = 5000}));
  EXPECT_EQ(found("eve"), (TenantTerms{.limit = 0, .window = 1h}));
  EXPECT_EQ(read(" \t{\"key\": \"ann\", \"limit\": 5}\n"), "");
  EXPECT_EQ(found("ann"), (TenantTerms{.limit = 5}));
}

TEST_F(TenantReaderTest, ReadsCsvByTheNamesOfItsColumns) {
  EXPECT_EQ(read("\xef\xbb\xbflimit,key\n5,\"a, \"\"b\"\"\"\n7,carl\r\n"), "");
  EXPECT_EQ(found("a, \"b\""), (TenantTerms{.limit = 5}));
  EXPECT_EQ(found("carl"), (TenantTerms{.limit = 7}));
  EXPECT_EQ(read("key,plan,limit,window\nann,iron,,\nbob,,5,1m\n"), "");
  EXPECT_EQ(found("ann"), (TenantTerms{.plan = "iron"}));
  EXPECT_EQ(found("bob"), (TenantTerms{.limit = 5, .window = 1min}));
}

TEST_F(TenantReaderTest, GoesOnWhereThePartBeforeHasEnded) {
  TenantReader reader(none_, {});
  reader.read("key,limit\nann,1\n");
  reader.read("bob,2\nann,3\n");
  reader.finish();
  EXPECT_EQ(reader.mistakes(), "line 4: the key of line 2 once more\n");
}

TEST_F(TenantReaderTest, SaysOfEachMistakeWhereAndWhat) {
  using namespace std::string_literals;
  const std::string head = "key,plan,limit,window\n";
  const auto row = [&](const std::string& line) { return read(head + line); };
  EXPECT_EQ(row("ann,gold"), "line 2: it has 2 fields; the first line has 4\n");
  EXPECT_EQ(row(",gold,,"), "line 2: key: expected 1 to 4096 bytes\n");
  std::string long_row(4097, 'k');
  long_row.append(",gold,,");
  EXPECT_EQ(row(long_row), "line 2: key: expected 1 to 4096 bytes\n");
  EXPECT_EQ(row("ann,,,"), "line 2: expected a plan, or a limit\n");
  EXPECT_EQ(row("ann,gold,5,"), "line 2: expected a plan or a limit, not both\n");
  EXPECT_EQ(row("ann,,-5,"), "line 2: limit: expected a whole number from 0 to 10^12\n");
  EXPECT_EQ(row("ann,,1000000000001,"), "line 2: limit: expected a whole number from 0 to 10^12\n");
  EXPECT_EQ(row("ann,,5,1x"), "line 2: window: expected a duration from 1ms to 366d, such as 1m\n");
  EXPECT_EQ(row("ann,gold,,1m"),
            "line 2: window: only a limit has one; a plan's are in the rules\n");
  EXPECT_EQ(row("ann,golf,,"),
            "line 2: plan: no rule with 'tenants: true' has a tier 'golf'; did you mean 'gold'?\n");
  EXPECT_EQ(row("ann," + std::string(65, 'p') + ",,"),
            "line 2: plan: expected a name of at most 64 bytes\n");
  EXPECT_EQ(row("a\0b,gold,,"s), "line 2: it holds a NUL\n");
  EXPECT_EQ(row("\"a\"nn,gold,,"), "line 2: its quotes are wrong: \"a \"\"b\"\"\" is a \"b\"\n");
  const std::string open =
      ": its quotes do not end; a key with a line break needs lines of JSON, not CSV\n";
  EXPECT_EQ(row("\"ann\nbob\",gold,,"), "line 2" + open + "line 3" + open);
  EXPECT_EQ(read("{\"key\": \"ann\", \"version\": 1}"),
            "line 1: unknown field 'version'; expected one of key, plan, limit, window, anchor\n");
  EXPECT_EQ(read("key,plam\nann,gold"), "line 1: unknown column 'plam'; did you mean 'plan'?\n");
  EXPECT_EQ(read(" [{\"key\": \"ann\"},\n{\"key\": \"bob\"}]"),
            "line 1: expected a JSON object a line, or CSV; leave out the array around them\n");
  EXPECT_EQ(read("plan\ngold").substr(0, 34), "line 1: no column is called 'key'\n");
  EXPECT_EQ(read("{\"key\": \"ann\"\n"), "line 1: expected a JSON object\n");
  EXPECT_EQ(read("{\"key\": \"a\\u0000\", \"limit\": 1}"), "line 1: key: it holds a NUL\n");
  EXPECT_EQ(read("{\"key\": \"a\", \"limit\": 1.5}"),
            "line 1: limit: expected a whole number from 0 to 10^12\n");
  EXPECT_EQ(read("{\"key\": \"a\", \"limit\": 1, \"limit\": 2}"),
            "line 1: 'limit' is there twice\n");
}

// One who had misspelt the name of a file removed all rows.
TEST_F(TenantReaderTest, RefusesNothingAtAll) {
  const std::string empty =
      "it is empty, and nothing is changed; to remove every row, use weir tenants clear, or "
      "DELETE /admin/tenants\n";
  EXPECT_EQ(read(""), empty);
  EXPECT_EQ(read("\r\n \n"), empty);
  EXPECT_EQ(read("key,plan,limit,window"), "") << "no row to add";
}

TEST_F(TenantReaderTest, NamesTheFirstTenOfAMillionBadRows) {
  std::string text = "key,limit\n";
  for (int i = 0; i < 1'000'000; ++i) text += "a,-1\n";
  const std::string mistakes = read(text);
  EXPECT_TRUE(mistakes.starts_with("line 2: limit"));
  EXPECT_TRUE(mistakes.ends_with("and 999990 more\n"));
  EXPECT_EQ(std::ranges::count(mistakes, '\n'), 11);
}

// The rows of a load that stops to be read were not counted, and "and N more" was wrong.
TEST_F(TenantReaderTest, SaysThatThereMayBeMoreMistakesThanItHasRead) {
  TenantReader reader(none_, {});
  reader.read("key,limit\n");
  for (int i = 0; i < 12; ++i) reader.read("a,-1\n");
  EXPECT_TRUE(reader.mistakes().ends_with("\nand at least 2 more\n"));
  reader.finish();
  EXPECT_TRUE(reader.mistakes().ends_with("\nand 2 more\n"));
  EXPECT_TRUE(read("a,b,c,d,e,f,g,h,i,j\n1,2\n").ends_with("\nand at least 1 more\n"))
      << "of rows nobody can tell";
}

TEST_F(TenantReaderTest, RefusesMoreRowsThanATableHas) {
  std::string text = "key,limit\n";
  for (std::size_t i = 0; i <= TenantTable::kRowsMax; ++i) text += std::to_string(i) + ",1\n";
  EXPECT_EQ(read(text), "line 1048578: more than 1048576 rows\n");
}

TEST_F(TenantReaderTest, ReadsAWindowAsATextOrASecondsNumber) {
  EXPECT_EQ(read("{\"key\": \"a\", \"limit\": 1, \"window\": \"1h\"}\n"
                 "{\"key\": \"b\", \"limit\": 1, \"window\": 3600}\n"
                 "{\"key\": \"c\", \"limit\": 1, \"window\": 0.25}\n"),
            "");
  EXPECT_EQ(found("a")->window, 1h);
  EXPECT_EQ(found("b")->window, 1h);
  EXPECT_EQ(found("c")->window, 250ms);
  EXPECT_EQ(read("key,limit,window\na,1,3600"), "");
  EXPECT_EQ(found("a")->window, 1h);
  for (const char* const window : {"-1", "0", "1e300", "31622401", "18446744073709551616"}) {
    const std::string row = std::string(R"({"key": "a", "limit": 1, "window": )") + window + "}";
    EXPECT_EQ(read(row), "line 1: window: expected a duration from 1ms to 366d, such as 1m\n");
  }
  EXPECT_EQ(read("{\"key\": \"a\", \"limit\": 1, \"window\": true}"),
            "line 1: window: expected a duration such as 1m, or a number of seconds\n");
}

TEST_F(TenantReaderTest, ReadsTheDayOnWhichMonthsBegin) {
  EXPECT_EQ(read("key,plan,anchor,limit,window\nann,gold,31,,\nbob,,1,5,\neve,,,5,\n"), "");
  EXPECT_EQ(found("ann"), (TenantTerms{.plan = "gold", .anchor = 31}));
  EXPECT_EQ(found("bob"), (TenantTerms{.limit = 5, .anchor = 1}));
  EXPECT_EQ(found("eve"), (TenantTerms{.limit = 5}));
  EXPECT_EQ(read(R"({"key": "a", "limit": 5, "anchor": 15})"), "");
  EXPECT_EQ(found("a"), (TenantTerms{.limit = 5, .anchor = 15}));
  for (const char* const day : {"0", "32", "-1", "4294967297"}) {
    const std::string expected = "anchor: expected the day on which months begin, from 1 to 31\n";
    EXPECT_EQ(read(std::string("key,limit,anchor\na,5,") + day), "line 2: " + expected);
    EXPECT_EQ(read(std::string(R"({"key": "a", "limit": 5, "anchor": )") + day + "}"),
              "line 1: " + expected);
  }
  EXPECT_EQ(read("key,limit,anchor\na,5,1.5").substr(0, 15), "line 2: anchor:");
  EXPECT_EQ(read(R"({"key": "a", "limit": 5, "anchor": "15"})"),
            "line 1: anchor: expected a day from 1 to 31\n");
  EXPECT_EQ(read("key,limit,window,anchor\na,5,1m,31"),
            "line 2: anchor: only months have one; leave out the window\n");
  EXPECT_EQ(read("key,anchor\na,5"), "line 2: expected a plan, or a limit\n");
}

TEST_F(TenantReaderTest, ReadsTheRowOfOneKey) {
  TenantReader reader(none_, {"gold"});
  reader.read_one("ann", "{\"plan\": \"gold\"}");
  EXPECT_EQ(reader.mistakes(), "");
  EXPECT_EQ(none_->edited(reader.take()).table->find("ann"), (TenantTerms{.plan = "gold"}));
  // Who asks has read these two.
  reader.read_one("ann", R"({"key": "bob", "version": "x", "limit": 5})");
  EXPECT_EQ(reader.mistakes(), "");
  const TenantTablePtr table = none_->edited(reader.take()).table;
  EXPECT_EQ(table->find("ann"), (TenantTerms{.limit = 5}));
  EXPECT_EQ(table->find("bob"), std::nullopt);
  TenantReader other(none_, {"gold"});
  other.read_one("ann", "{\"name\": \"bob\", \"plan\": \"gold\"}");
  EXPECT_EQ(other.mistakes(),
            "unknown field 'name'; expected one of plan, limit, window, anchor\n");
}

}  // namespace
}  // namespace weir
