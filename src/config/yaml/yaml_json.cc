#include "config/yaml/yaml_json.h"

#include <cstdint>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace weir {
namespace {

namespace json = boost::json;

json::value scalar(const YamlNode& node) {
  if (node.style == YamlNode::Style::kPlain) {
    boost::system::error_code error;
    const json::value value = json::parse(node.text, error);
    if (!error && !value.is_structured()) return value;
  }
  return json::value(json::string_view(node.text.data(), node.text.size()));
}

// As deep as the document, which is bounded (kYamlDepthMax). `left` counts nodes down;
// below zero the result is of no use.
json::value tree(const YamlNode& node, std::int64_t& left) {
  if (--left < 0) return nullptr;
  switch (node.kind) {
    case YamlNode::Kind::kEmpty: return nullptr;
    case YamlNode::Kind::kText: return scalar(node);
    case YamlNode::Kind::kList: {
      json::array array;
      for (const YamlNode* item : node.items) array.push_back(tree(*item, left));
      return array;
    }
    case YamlNode::Kind::kMap: {
      json::object object;
      for (const auto& entry : node.entries) object[entry.key->text] = tree(*entry.value, left);
      return object;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> to_json(const YamlNode& node) {
  std::int64_t left = kJsonNodesMax;
  const json::value value = tree(node, left);
  return left < 0 ? std::nullopt : std::optional(json::serialize(value));
}

}  // namespace weir
