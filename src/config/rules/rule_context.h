// RuleContext: what the reader of a rule knows apart from the rules.
//
// Thread rule: values. Tested by src/config/config_test.cc.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/yaml/yaml_text.h"
#include "rules/mode.h"

namespace weir {

class PriceTable;

// What applies the rules. Some of what a rule may say only a gateway can do, which passes requests
// on to an origin: nginx with Weir in it (docs/how-to/nginx.md). Some it cannot. kEither: nobody
// applies them here, and they may be for either.
enum class ServedBy : std::uint8_t { kServer, kGateway, kEither };

struct RuleContext {
  ServedBy served_by = ServedBy::kServer;
  bool knows_countries = false;
  bool verifies_tokens = false;
  std::optional<Mode> shared_mode{};  // of rules that name none; nothing: there is no shared store
  bool knows_world = false;           // a Redis that all places reach
  std::shared_ptr<const PriceTable> prices{};  // of language models' tokens; null: there are none
};

// Where a rule stands in the file.
struct RulePlaces {
  TextPlace rule;
  std::map<std::string, TextPlace, std::less<>> fields;

  // The place of the field, or of the rule if it lacks the field.
  const TextPlace& of(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? rule : found->second;
  }
};

}  // namespace weir
