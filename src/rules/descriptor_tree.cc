#include "rules/descriptor_tree.h"

#include "base/assert.h"

namespace weir {

DescriptorTree::DescriptorTree(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    if (!rule.descriptor) continue;
    auto& domain = domains_[rule.descriptor->domain];
    if (domain == nullptr) domain = std::make_unique<Node>();
    if (rule.descriptor->entries.empty()) continue;  // it only says that the domain exists

    Node* node = domain.get();
    for (const DescriptorEntry& entry : rule.descriptor->entries) node = &child(*node, entry);
    WEIR_ASSERT(node->rule == nullptr);
    node->rule = &rule;
  }
}

DescriptorTree::Node& DescriptorTree::child(Node& parent, const DescriptorEntry& entry) {
  KeyChildren& children = parent.keys[entry.key];
  if (entry.value && !entry.value->is_exact) {
    for (PatternChild& known : children.patterns) {
      if (known.pattern->text == entry.value->text) return *known.node;
    }
    children.patterns.push_back({.pattern = &*entry.value, .node = std::make_unique<Node>()});
    return *children.patterns.back().node;
  }
  auto& node = entry.value ? children.exact[entry.value->text] : children.any;
  if (node == nullptr) node = std::make_unique<Node>();
  return *node;
}

const DescriptorTree::Node* DescriptorTree::step(const Node& node, const NameValue& entry) {
  const auto found = node.keys.find(entry.name);
  if (found == node.keys.end()) return nullptr;
  const KeyChildren& children = found->second;
  const auto exact = children.exact.find(entry.value);
  if (exact != children.exact.end()) return exact->second.get();
  for (const PatternChild& child : children.patterns) {
    if (child.pattern->matches(entry.value)) return child.node.get();
  }
  return children.any.get();
}

const Rule* DescriptorTree::find(const Descriptor& descriptor) const {
  const auto domain = domains_.find(descriptor.domain);
  if (domain == domains_.end() || descriptor.entries.empty()) return nullptr;
  const Node* node = domain->second.get();
  for (const NameValue& entry : descriptor.entries) {
    node = step(*node, entry);
    if (node == nullptr) return nullptr;
  }
  return node->rule;
}

}  // namespace weir
