// DescriptorTree: which rule a descriptor leads to.
//
// A domain is a tree with a level for each entry. On each level the entry's key and value are
// looked for as this very value first. Then come the patterns of the level that match it, in the
// order of the file, of which the first counts; last comes the key with any value. There is no way
// back: if the level below has no place for the next entry, nothing has matched. A rule counts only
// where the last entry lands on it. That is what the reference service does; it differs in joining
// key and value to one text, where key "a_b" meets key "a" with value "b". Here they never meet.
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

  // Takes those that have a `descriptor`. They must outlive this.
  // REQUIRES: no two have the same.
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
