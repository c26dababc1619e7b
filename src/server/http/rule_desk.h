// RuleDesk: where the admin routes see and change the rules of the node.
//
// What it keeps are the rules as they were written, in JSON; each change gives the whole
// set a new version. A change is checked with all other rules, as a file would be, before
// it is in force anywhere.
//
// Thread rule: any thread. Implemented by cli/rulebook.h. Tested by http_rules_test.cc and
// tests/e2e/rules_test.py.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/time.h"

namespace weir {

enum class RuleOrigin : std::uint8_t {
  kFile,
  kRequest,  // added or changed by request, and not in the file as it is now
  kEnvoy,    // from the files of Envoy's service: only there can it be changed
};

struct RuleView {
  std::string id;
  std::string json;  // empty of kEnvoy
  RuleOrigin origin = RuleOrigin::kFile;
};

struct RulesView {
  std::uint64_t version = 0;
  std::vector<RuleView> rules;       // in the order in which they apply
  std::vector<std::string> removed;  // by request; a reload brings them back
};

struct RuleChange {
  enum class Kind : std::uint8_t { kPut, kEnable, kDisable, kRemove };
  enum class Keep : std::uint8_t { kUntilReload, kInFile };

  Kind kind = Kind::kPut;
  std::string id;
  std::string text{};  // of kPut: the rule
  std::optional<std::uint64_t> if_version{};
  Keep keep = Keep::kUntilReload;
};

struct RuleReply {
  // 200, 201 (a new rule); 400 (not a rule), 404 (none of this id), 409 (not with the
  // others, or not in the file), 412 (another version).
  int status = 200;
  std::string detail{};  // of a refusal: sentences
  std::uint64_t version = 0;
};

class RuleDesk {
 public:
  virtual ~RuleDesk() = default;

  virtual RulesView view() const = 0;
  virtual RuleReply change(const RuleChange& change, Instant now) = 0;
};

}  // namespace weir
