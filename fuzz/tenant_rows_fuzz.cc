// Rows of a table of tenants: as people send them, and as Redis or a file has them. Whatever the
// bytes are, a table of them is read again from its own bytes, row by row the same.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "engine/tenants/tenant_table.h"
#include "rulebook/tenants/tenant_reader.h"

namespace {

using namespace weir;

const TenantTablePtr kNone = std::make_shared<const TenantTable>(HashSecret{});

void read_again(const TenantTable& table, std::uint16_t bucket) {
  TenantTable::Edits edits;
  WEIR_ASSERT(kNone->read_bucket(bucket, table.bucket_bytes(bucket), edits));
  const auto again = kNone->edited(std::move(edits)).table;
  WEIR_ASSERT(again != nullptr && again->bucket_bytes(bucket) == table.bucket_bytes(bucket));
}

void read_rows(std::string_view text) {
  TenantReader reader(kNone, {"gold", "iron"});
  reader.read(text);
  reader.finish();
  if (!reader.mistakes().empty() || reader.rows() == 0) return;
  const std::size_t rows = reader.rows();
  auto edits = reader.take();
  const auto first = edits.rows.front().key;
  const auto table = kNone->edited(std::move(edits)).table;
  WEIR_ASSERT(table != nullptr && table->size() == rows && table->find(first).has_value());
  read_again(*table, static_cast<std::uint16_t>(first.high >> 48));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_rows(text);
  TenantReader one(kNone, {"gold"});
  one.read_one("key", text);
  TenantTable::Edits edits;
  if (!kNone->read_bucket(0, text, edits)) return 0;
  const auto table = kNone->edited(std::move(edits)).table;
  if (table != nullptr) read_again(*table, 0);
  return 0;
}
