// Rules in the form that the Worker reads: bytes, made of the configuration file at build time.
//
// The Worker has no RE2, no tokens, no blocks and no fleet. A rule that it cannot carry out is
// refused with its place: attackers would find a limit that was left out.
//
// Thread rule: pure. Tested by exported_rules_test.cc. That the Worker matches and denies as the
// server does: worker/test/matching.test.mjs, worker/test/denials.test.mjs.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/config.h"
#include "config/rules/rule_sources.h"
#include "weir/result.h"

namespace weir {

enum class WorkerStore : std::uint8_t {
  kKv,       // counts in windows
  kDurable,  // every algorithm except adaptive
};

// The store's letter, 'k' or 'd', then packed_rules(). `file` is only a name, for the errors.
Result<std::string, ConfigErrors> exported_rules(const Config& config,
                                                 std::span<const RuleSource> sources,
                                                 WorkerStore store, const std::string& file);

}  // namespace weir
