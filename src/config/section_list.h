// Reads a list of sections.
//
// Thread rule: one thread. Tested by config_test.cc.

#pragma once

#include <string>

#include "config/section_reader.h"

namespace weir {

// Calls `read` with the reader of each item that is a section without a mistake.
template <typename Read>
void for_each_section(const YamlNode& list, const Section& section, Mistakes& mistakes, Read read) {
  for (const YamlNode* item : list.items) {
    if (item->kind == YamlNode::Kind::kMap) {
      SectionReader reader(section, *item, item->place, mistakes);
      if (reader.valid()) read(reader);
      continue;
    }
    const bool empty = item->kind == YamlNode::Kind::kEmpty;  // has no place of its own
    mistakes.add(empty ? list.place : item->place,
                 std::string(section.name) + " must be a map, but is " + found_text(*item));
  }
}

}  // namespace weir
