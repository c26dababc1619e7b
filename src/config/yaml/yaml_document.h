// YamlDocument: a YAML file as a tree that is safe to walk, each node with its place.
//
// The tree is built from yaml-cpp's events and not from its own YAML::Node. A YAML::Node forgets
// duplicate keys, reads an unclosed quote to the end of the file without a word, and follows
// nesting as deep as the stack. Bounds: 1 MiB, 64 levels, 250,000 nodes, a million if each alias
// were written out, one document. An alias is the same node again, so its mistakes are reported at
// its text. A node that contains itself is refused. Tags (!!str) are refused, as they only say what
// the fields know.
//
// Thread rule: a value; const access from any thread. Tested by yaml_document_test.cc.

#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml/yaml_text.h"
#include "weir/result.h"

namespace weir {

inline constexpr std::size_t kYamlDepthMax = 64;
inline constexpr std::size_t kYamlNodesMax = 250'000;
inline constexpr std::size_t kYamlWrittenOutMax = 1'000'000;

struct YamlNode {
  enum class Kind { kEmpty, kText, kList, kMap };  // kEmpty: nothing, ~ or null
  enum class Style { kPlain, kQuoted };

  struct Entry {
    const YamlNode* key = nullptr;  // never null in a finished document
    const YamlNode* value = nullptr;
  };

  Kind kind = Kind::kEmpty;
  Style style = Style::kPlain;
  // An empty node has the place of what follows it: use its key's instead.
  TextPlace place;
  std::string text;                    // kText
  std::vector<const YamlNode*> items;  // kList
  std::vector<Entry> entries;          // kMap, in file order, duplicates included
  std::size_t written_out = 1;         // nodes, with each alias counted in full
};

class YamlDocument {
 public:
  // The error is the first part that is not YAML as described above.
  static Result<YamlDocument, YamlError> parse(std::string_view text);

  // Null if the file holds only comments. Valid as long as the document, even if that is moved.
  const YamlNode* root() const { return root_; }

 private:
  friend class YamlTreeBuilder;
  std::deque<YamlNode> nodes_;
  const YamlNode* root_ = nullptr;
};

// A YAML tree as JSON text. Keys are texts; of duplicate keys the last counts. Plain texts that
// JSON reads as a number, true or false stay so; all others become strings.
//
// Thread rule: pure. Tested by src/config/envoy/envoy_config_test.cc.

enum class JsonFor {
  kOthers,         // who read values that Weir passes on: 1.0 is a number
  kConfiguration,  // that is read again: 1.0 may be a text of which each sign counts, so it is one
};

// Nothing if the tree has more than kJsonNodesMax nodes, with each alias counted in full.
inline constexpr std::size_t kJsonNodesMax = 10'000;
std::optional<std::string> to_json(const YamlNode& node, JsonFor reader);

// Its numbers are plain decimal digits, as a configuration has them. Boost.JSON writes 0.6 as 6E-1.
std::string to_json(const boost::json::value& value);

// Whether JSON writes this plain scalar with the same signs. It does not True and 0.60, which stand
// in quotes in the JSON of a configuration.
bool is_json_scalar(std::string_view text);

}  // namespace weir
