// TenantReader: rows of a table of tenants, as people write them: JSON lines, or CSV whose first
// line names the columns, in any order.
//
//   {"key": "ann", "plan": "gold", "anchor": 31}    key,plan,limit,window,anchor
//   {"key": "bob", "limit": 5000, "window": "1h"}   ann,gold,,,31
//                                                   bob,,5000,1h,
//
// A load may come in several texts, each of whole lines. All mistakes are counted, and the first
// ten kept: with one of them the load is no good.
//
// Thread rule: one thread. Memory: 40 bytes a row. Tested by tenant_reader_test.cc and
// fuzz/tenant_rows_fuzz.cc.

#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tenants/tenant_table.h"

namespace weir {

// A load that would leave no row is told this: an export that found nothing hardly means that.
inline constexpr std::string_view kHowToClear =
    "nothing is changed; to remove every row, use weir tenants clear, or DELETE /admin/tenants";

class TenantReader {
 public:
  static constexpr std::size_t kMistakesShown = 10;

  // `table`: under whose secret keys are hashed. `plans`: all that there are.
  TenantReader(TenantTablePtr table, std::vector<std::string> plans);

  void read(std::string_view text);
  // All has come. Finds keys that came twice, and that nothing came at all.
  void finish();
  // The row of one key. Of the object, `key` and `version` are the caller's to read.
  void read_one(std::string_view key, std::string_view json);

  // Whether reading on is in vain: no more mistakes would be named, or the form is unknown.
  bool is_hopeless() const { return wrong_ >= kMistakesShown || form_ == Form::kNone; }
  // A line each; empty if there are none. The last line counts the mistakes that are not shown:
  // exactly after finish() if the rows could be read, else "at least" so many.
  std::string mistakes() const;
  std::size_t rows() const { return rows_.size(); }
  const TenantTablePtr& table() const { return table_; }
  // REQUIRES: finish(), and no mistakes
  TenantTable::Edits take();

 private:
  struct Line {
    TenantTable::Row row;
    std::uint32_t number;
  };
  struct Fields;

  void read_line(std::string_view line);
  void read_json(std::string_view line, std::string_view key);
  void read_csv(std::string_view line);
  void read_columns(const std::vector<std::string>& names);
  void add(const Fields& fields);
  std::string wrong_with(const Fields& fields, TenantTable::Row& row) const;
  void refuse(std::uint64_t line, const std::string& why);

  const TenantTablePtr table_;
  const std::vector<std::string> plans_;
  enum class Form : std::uint8_t { kUnknown, kJson, kCsv, kNone } form_ = Form::kUnknown;
  std::vector<std::string> columns_;
  std::vector<Line> rows_;
  std::uint64_t line_ = 0;
  std::uint64_t wrong_ = 0;  // rows
  bool is_whole_ = false;
  std::string mistakes_;
};

}  // namespace weir
