// CountryDatabase: the country of an address, from a file in MaxMind's format.
//
// The file is mapped, not read, so that all cores and sets of rules share it. Replace it by
// renaming another file over it, as MaxMind's own updater does; never write it in place. If
// anything in its middle is wrong, the address has no country.
//
// Thread rule: immutable; any thread. country() allocates nothing.
// Tested by country_database_test.cc.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fault.h"
#include "base/ip_address.h"
#include "weir/result.h"

namespace weir {

class CountryDatabase {
 public:
  using Ptr = std::shared_ptr<const CountryDatabase>;

  static Result<Ptr, Fault> open(const std::string& path);

  CountryDatabase(const CountryDatabase&) = delete;
  CountryDatabase& operator=(const CountryDatabase&) = delete;
  ~CountryDatabase();

  // Two letters, valid as long as this lives; empty: unknown.
  std::string_view country(const IpAddress& address) const;

 private:
  struct File;

  explicit CountryDatabase(std::unique_ptr<File> file);

  bool knows_countries() const;

  const std::unique_ptr<File> file_;
};

}  // namespace weir
