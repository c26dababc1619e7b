// nginx's workers read bodies where nothing catches exceptions. So this program has no memory.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/allocation_testing.h"
#include "proto/usage/usage_reader.h"

namespace weir {
namespace {

TEST(UsageAllocation, ReadingNeedsNoMemory) {
  using enum UsageReader::Form;
  const std::string name(JsonNumbers::kPathMax, 'n');
  const std::string body = "{\"" + name + "\":{\"" + name + "\":5},\"deep\":{\"" + name.substr(8) +
                           "\":{\"n\":4}},\"usage\":{\"total_tokens\":9}}\n\n";
  for (const auto form : {kJson, kLines, kEvents}) {
    UsageReader reader(form, "");
    const std::string sent = (form == kEvents ? "data:" : "") + body;
    {
      const NoMemory none;
      for (const char& byte : sent) reader.feed({&byte, 1});
      EXPECT_FALSE(none.has_failed());
    }
    EXPECT_EQ(reader.units(), 9);
  }
}

TEST(UsageAllocation, NorDoesReadingOfModels) {
  const auto prices = std::make_shared<const PriceTable>(std::vector<PriceTable::Row>());
  UsageReader reader(UsageReader::Form::kJson, prices);
  const std::string body = "{\"model\":\"" + std::string(999, 'm') + "\",\"modelVersion\":\"x\"}";
  const NoMemory none;
  for (const char& byte : body) reader.feed({&byte, 1});
  EXPECT_FALSE(none.has_failed());
}

}  // namespace
}  // namespace weir
