// The DescriptorTree of a program that nobody sends descriptors. Takes the place of
// src/rules/descriptor_tree.h.
//
// Thread rule: empty. Tested by worker/test/matching.test.mjs.

#pragma once

#include <span>
#include <string_view>

#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {

class DescriptorTree {
 public:
  DescriptorTree() = default;
  explicit DescriptorTree(std::span<const Rule>) {}

  const Rule* find(const Descriptor&) const { return nullptr; }
  bool has_domain(std::string_view) const { return false; }
};

}  // namespace weir
