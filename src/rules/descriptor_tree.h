// DescriptorTree: finds the rule of a descriptor.
//
// A domain is a tree with a level for each entry. On each level the tree first looks for the
// entry's exact key and value. Then come the level's patterns in the order of the file; the first
// that matches counts. Last comes the key with any value. The search never goes back: if the next
// level has no place for the next entry, nothing matches. A rule counts only if the last entry ends
// on it. The reference service does the same, but joins key and value to one text, where key "a_b"
// meets key "a" with value "b". Here they never meet.
//
// Thread rule: immutable after construction; find() from any thread, no allocation.
// Cost: two hashes an entry. Tested by descriptor_tree_test.cc.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"
#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {

class DescriptorTree {
 public:
  DescriptorTree() = default;

  // Takes the rules that have a `descriptor`. They must outlive this.
  // REQUIRES: no two rules have the same descriptor
  explicit DescriptorTree(std::span<const Rule> rules);

  const Rule* find(const Descriptor& descriptor) const;
  bool has_domain(std::string_view domain) const { return domains_.contains(domain); }

 private:
  template <typename T>
  using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;
  struct Node;
  struct PatternChild {
    const TextPattern* pattern = nullptr;
    std::unique_ptr<Node> node;
  };
  struct KeyChildren {
    TextMap<std::unique_ptr<Node>> exact;
    std::vector<PatternChild> patterns;
    std::unique_ptr<Node> any;
  };
  struct Node {
    const Rule* rule = nullptr;
    TextMap<KeyChildren> keys;
  };

  static Node& child(Node& parent, const DescriptorEntry& entry);
  static const Node* step(const Node& node, const NameValue& entry);

  TextMap<std::unique_ptr<Node>> domains_;
};

}  // namespace weir
