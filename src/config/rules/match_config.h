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

// Each reads its own section. `config` is what the file says beside the rules.
RequestMatch read_match(const SectionReader& reader, const Config& config);
std::optional<Schedule> read_schedule(const SectionReader& reader);

// Reports a mistake at `place` if the file does not say where that property comes from.
void check_source(const KeyPart& part, const SectionReader& reader, const TextPlace& place,
                  const Config& config);

// "'10.1.2.3/8' is no network; ..."
std::string not_a_network(const YamlNode& text);

}  // namespace weir
