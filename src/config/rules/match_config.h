// Reads what a rule of a configuration file applies to: requests and hours.
//
// Thread rule: one thread. Tested by src/config/config_test.cc.

#pragma once

#include <optional>
#include <string>

#include "config/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "rules/key_part.h"
#include "rules/request_match.h"
#include "rules/schedule.h"

namespace weir {

// `config` is what the file says beside the rules.
RequestMatch read_match(const YamlNode& node, const Config& config, Mistakes& mistakes);

std::optional<Schedule> read_schedule(const YamlNode& node, Mistakes& mistakes);

// A mistake if the file does not say where that property is to come from.
void check_source(const KeyPart& part, const TextPlace& place, const Config& config,
                  Mistakes& mistakes);

// "'10.1.2.3/8' is no network; ..."
std::string not_a_network(const YamlNode& text);

}  // namespace weir
