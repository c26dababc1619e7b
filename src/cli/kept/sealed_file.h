// SealedFile: a file of a node's own, which it reads at its start and replaces whole.
//
//   weir state 3 8f3a96e1c0b2d754        kind and version, and XXH3's checksum of the body
//   ...                                  the body
//
// Weir loads a whole file or none: it moves a file that is damaged, or of another version, to
// PATH.broken. If the file is something else, it stays, and the node does not start. Only the
// file's owner may read it: it has keys.
//
// Thread rule: one thread at a time. Tested by state_file_test.cc,
// src/cli/node/tenant_keeper_test.cc and fuzz/packed_fuzz.cc.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fault.h"

namespace weir {

class SealedFile {
 public:
  struct Kind {
    std::string_view name;  // "state"
    std::string_view mark;  // with the version: "weir state 3 "
    std::string_view content;
    std::size_t bytes_max;
  };

  // The line in front of the body.
  static std::string seal_of(std::string_view mark, std::string_view body);
  // The body; nullopt if the file is damaged, or has another mark.
  static std::optional<std::string_view> body_of(std::string_view mark, std::string_view file);

  // Without a path nothing is kept.
  SealedFile(std::string path, const Kind& kind) : path_(std::move(path)), kind_(kind) {}

  const std::string& path() const { return path_; }
  bool is_used() const { return !path_.empty(); }

  // Why the file cannot be used. Leaves what is there, and its folder, as they are.
  std::optional<Fault> check() const;

  // Hands the body of the file, if there is one, to `take`, which says whether it is whole.
  std::optional<Fault> load(const std::function<bool(std::string_view body)>& take) const;

  // The log has the first fault, and the end of faults.
  std::optional<Fault> save(std::string_view body);

 private:
  std::optional<Fault> unless_missing(const std::error_code& error) const;
  std::optional<Fault> move_aside(std::string_view reason) const;

  std::string path_;
  Kind kind_;
  bool has_failed_ = false;  // to save the last time
};

}  // namespace weir
