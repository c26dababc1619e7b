// TenantDesk: where requests see and change the table of tenants.
//
// A change is all or nothing, and gives the table a new version. One that is longer than a request
// may be comes in parts: the rows wait on the node until the last part is there.
//
// Thread rule: any thread. Implemented by cli/node/tenant_keeper.h. Tested by
// src/server/http/admin/http_tenants_test.cc and tests/e2e/tenants_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/tenants/tenant_table.h"
#include "rulebook/rule_desk.h"
#include "weir/time.h"

namespace weir {

// Of one table only: nodes without a Redis may give two the same version.
inline std::string tenant_tag(std::uint64_t version, const TenantTable& table) {
  return std::to_string(version) + '-' + std::to_string(table.digest());
}

struct TenantView {
  TenantTablePtr table;
  std::uint64_t version = 0;      // 0: nobody has written one
  std::optional<bool> is_told{};  // to the Redis that nodes share; nothing: the node is alone
  // Changes that were made without Redis, and gave way to what others had changed: the last such.
  struct Lost {
    std::uint64_t since = 0;    // the version on which they were made
    std::uint64_t version = 0;  // that of the others
    std::size_t rows = 0;
  };
  std::optional<Lost> lost{};

  std::string tag() const { return tenant_tag(version, *table); }
};

struct TenantChange {
  enum class Kind : std::uint8_t {
    kPut,      // the row of `key`, from `text`
    kRemove,   // the row of `key`
    kMerge,    // adds the rows in `text`, or changes them
    kReplace,  // the same, and removes all others; refused without any row
    kClear,    // removes all rows
  };
  // Of a load in several requests: its name, and which part this one is.
  struct Part {
    std::string load;
    std::size_t number = 1;
    std::size_t of = 1;
  };
  static constexpr std::size_t kPartsMax = 1024;

  Kind kind = Kind::kPut;
  std::string key{};
  std::string text{};
  std::optional<std::string> if_tag{};        // of the table that it changes
  std::optional<std::uint64_t> if_version{};  // likewise, by its number alone
  std::optional<Part> part{};
  std::string who{};
};

struct TenantReply {
  ChangeOutcome outcome = ChangeOutcome::kDone;
  std::string detail{};     // of a refusal: sentences, or mistakes, a line each
  TenantView view{};        // after the change
  std::size_t waiting = 0;  // rows of a load that is not whole yet
  Duration retry_after{0};  // of a refusal that ends by itself; zero: of none
};

class TenantDesk {
 public:
  // Must not throw.
  using Done = std::function<void(TenantReply)>;

  virtual ~TenantDesk() = default;

  virtual TenantView view() const = 0;
  // Calls `done` once, on any thread: when every core has the new table, or it is refused.
  virtual void change(TenantChange change, Done done) = 0;
};

}  // namespace weir
