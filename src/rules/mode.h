// Mode: how the nodes that share a store agree on a key. OnStoreFailure: what a rule does without
// the store. docs/explanation/modes.md says what each mode promises.
//
// Thread rule: constants. Tested by src/engine/asks/asks_modes_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/store.h"

namespace weir {

// Later modes are stricter, except the last.
enum class Mode : std::uint8_t {
  kLocal,   // each node counts for itself
  kAsync,   // each node counts, and tells the others soon
  kLeased,  // each node spends units that it leased from the store ahead of need
  kStrict,  // the store decides
  kWorld,   // as kAsync, by the Redis of all places: for rules with 'scope: world'
};
// The names that may be chosen.
inline constexpr std::array<std::string_view, 4> kModeNames = {"local", "async", "leased",
                                                               "strict"};

constexpr std::string_view mode_name(Mode mode) {
  return mode == Mode::kWorld ? "world" : kModeNames[static_cast<std::size_t>(mode)];
}

// Whether each node decides by a copy of what all nodes have counted.
constexpr bool has_copies(Mode mode) { return mode == Mode::kAsync || mode == Mode::kWorld; }

// The nodes over which a rule counts.
enum class Scope : std::uint8_t { kPlace, kWorld };
inline constexpr std::array<std::string_view, 2> kScopeNames = {"place", "world"};

constexpr std::optional<Mode> mode_from_name(std::string_view name) {
  const auto found = std::ranges::find(kModeNames, name);
  return found == kModeNames.end() ? std::nullopt
                                   : std::optional(static_cast<Mode>(found - kModeNames.begin()));
}

enum class OnStoreFailure : std::uint8_t {
  kLocal,  // this node's share of the limit, from counters that were kept current
  kAllow,
  kDeny,
};
inline constexpr std::array<std::string_view, 3> kOnStoreFailureNames = {"local", "allow", "deny"};

inline constexpr std::array<std::string_view, 2> kOnFullNames = {"allow", "deny"};

}  // namespace weir
