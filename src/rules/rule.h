// Rule: what a request must look like, which key it yields, and which quota applies.
//
// A rule is applied in up to three ways, and has one counter a key through all:
//   by its id        a check, a command or a call names the rule and the key
//   by a request     `match` holds; the key is made of `key_parts`
//   by a descriptor  `descriptor` matches; the key is made of the entries whose value
//                    the rule leaves open
//
// A key of one part is that part, as it is. Of several, each is preceded by its length
// ("9:192.0.2.16:/login" of 192.0.2.1 and /login), so that no two lists of parts give the same key.
//
// Thread rule: immutable once in a RuleSet. Tested by traffic_rules_test.cc (requests) and
// descriptor_tree_test.cc (descriptors, patterns).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "weir/quota.h"

namespace weir {

// Values that texts are compared with: exact, or with '*' for any bytes.
struct TextPattern {
  explicit TextPattern(std::string pattern);
  bool matches(std::string_view text) const;

  std::string text;
  bool is_exact = true;  // no '*' in it
};

struct HeaderMatch {
  std::string name;
  TextPattern value;  // "*": any value, but not none
};

// All that is given must hold; of a list, one. Nothing given: holds for every request.
struct RequestMatch {
  std::vector<std::string> methods{};
  std::vector<TextPattern> hosts{};  // in lower case
  std::vector<TextPattern> paths{};
  std::vector<HeaderMatch> headers{};
  std::vector<IpPrefix> clients{};
};

// One part of the key of a request.
struct KeyPart {
  enum class Property : std::uint8_t { kClient, kMethod, kHost, kPath, kHeader };

  Property property = Property::kClient;
  std::string header{};       // of kHeader
  std::uint8_t v4_bits = 32;  // of kClient: the network counts, not the address
  std::uint8_t v6_bits = 64;
};

struct DescriptorEntry {
  std::string key;
  std::optional<TextPattern> value{};  // none: any value, which is part of the counter's key
  // Of a pattern: all values that match it share one counter.
  bool shares = false;

  // Its value is part of the counter's key.
  bool is_open() const { return !value || (!value->is_exact && !shares); }
};

struct DescriptorMatch {
  std::string domain{};
  // At most Descriptor::kEntriesMax. None: no descriptor matches, but the domain exists.
  std::vector<DescriptorEntry> entries{};

  std::size_t open_entries() const {
    return static_cast<std::size_t>(std::ranges::count_if(entries, &DescriptorEntry::is_open));
  }
};

// What only Envoy's rate limit service knows (the reference service's YAML).
struct DescriptorPolicy {
  std::string name{};                   // rate_limit.name; told in current_limit
  std::vector<std::string> replaces{};  // names of rules that do not count if this one matches
  bool quota_mode = false;
  bool detailed_metric = false;
  bool value_to_metric = false;
  std::string metadata_json{};  // an object; empty: none
};

struct Rule {
  enum class Effect : std::uint8_t {
    kLimit,
    kUnlimited,  // allows without counting, and says so
    kExempt,     // as if no rule had matched
  };

  std::string id;
  Quota quota;
  Effect effect = Effect::kLimit;
  bool enabled = true;  // a disabled rule allows everything and counts nothing
  bool shadow = false;  // counts and reports, but never denies

  // Of the rules of one group the first that matches applies.
  std::string group{};
  std::optional<RequestMatch> match{};
  std::vector<KeyPart> key_parts{};  // of `match`; empty: one key for all

  std::optional<DescriptorMatch> descriptor{};
  DescriptorPolicy policy{};
};

}  // namespace weir
