// RuleContext: what the reader of a rule must know apart from the rules.
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

// The host that applies the rules. Some fields only a gateway can apply, which passes requests on
// to an origin: nginx with Weir in it (docs/how-to/nginx.md). Other fields it cannot apply.
// kEither: the rules are not applied here, and may be for either host.
enum class ServedBy : std::uint8_t { kServer, kGateway, kEither };

struct RuleContext {
  ServedBy served_by = ServedBy::kServer;
  bool knows_countries = false;
  bool verifies_tokens = false;
  std::optional<Mode> shared_mode{};  // of rules that name none; empty: there is no shared store
  bool knows_world = false;           // whether there is a Redis of all places
  std::shared_ptr<const PriceTable> prices{};  // of language models' tokens; null: there are none
};

// The places of a rule and its fields in the file.
struct RulePlaces {
  TextPlace rule;
  std::map<std::string, TextPlace, std::less<>> fields;

  // The field's place, or the rule's if the field is not set.
  const TextPlace& of(std::string_view field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? rule : found->second;
  }
};

}  // namespace weir
