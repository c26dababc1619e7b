#include "config/yaml/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cstdint>
#include <new>
#include <sstream>
#include <utility>

#include "base/assert.h"
#include "base/joined.h"
#include "config/yaml/yaml_syntax.h"

namespace weir {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Thrown through yaml-cpp, which cannot be stopped early in another way; caught in parse().
struct Refusal {
  YamlError error;
};

[[noreturn]] void refuse(const TextPlace& place, std::string message) {
  throw Refusal{{place, std::move(message)}};
}

TextPlace place_of(const YAML::Mark& mark) {
  // A null mark has -1 everywhere.
  return {static_cast<std::size_t>(std::max(mark.line, 0)) + 1,
          static_cast<std::size_t>(std::max(mark.column, 0)) + 1};
}

namespace json = boost::json;

json::value scalar(const YamlNode& node, JsonFor reader) {
  const json::string_view text(node.text.data(), node.text.size());
  boost::system::error_code error;
  if (node.style == YamlNode::Style::kPlain) {
    const json::value value = json::parse(text, error);
    const bool is_kept = reader == JsonFor::kOthers || to_json(value) == node.text;
    if (!error && !value.is_structured() && is_kept) return value;
  }
  return json::value(text);
}

// Recurses as deep as the document, which is bounded (kYamlDepthMax). `left` counts nodes down;
// below zero the result is of no use.
json::value tree(const YamlNode& node, JsonFor reader, std::int64_t& left) {
  if (--left < 0) return nullptr;
  switch (node.kind) {
    case YamlNode::Kind::kEmpty: return nullptr;
    case YamlNode::Kind::kText: return scalar(node, reader);
    case YamlNode::Kind::kList: {
      json::array array;
      for (const YamlNode* item : node.items) array.push_back(tree(*item, reader, left));
      return array;
    }
    case YamlNode::Kind::kMap: {
      json::object object;
      for (const auto& [key, value] : node.entries) object[key->text] = tree(*value, reader, left);
      return object;
    }
  }
  return nullptr;
}

}  // namespace

class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  explicit YamlTreeBuilder(std::string_view text) : lines_(text) {}

  YamlDocument take() { return std::move(document_); }

  YamlError explain(const YAML::ParserException& error) const {
    const YamlNode* innermost = open_.empty() ? nullptr : open_.back();
    return explain_syntax_error(error.msg, place_of(error.mark), innermost, lines_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const TextPlace place = place_of(mark);
    refuse(place, explain_second_document(place, lines_));
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(YamlNode::Kind::kEmpty, mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    WEIR_ASSERT(anchor < anchored_.size() && anchored_[anchor] != nullptr);
    const YamlNode* node = anchored_[anchor];
    if (std::find(open_.begin(), open_.end(), node) != open_.end()) {
      refuse(place_of(mark), "this alias stands inside of what it refers to");
    }
    attach(node);
    count_in(*node, place_of(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode& node = add(YamlNode::Kind::kText, mark, anchor);
    count_in(node, node.place);
    node.text = value;
    if (tag == "!") {
      node.style = YamlNode::Style::kQuoted;
      const auto unclosed = find_unclosed_quote(node.place, lines_);
      if (unclosed) refuse(*unclosed, "this quote is not closed on its line");
    } else {
      refuse_tag(mark, tag);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(add(YamlNode::Kind::kList, mark, anchor));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(add(YamlNode::Kind::kMap, mark, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  // "?" is yaml-cpp's word for a plain node without a tag.
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?") return;
    refuse(place_of(mark), "tags such as !!str are not supported; remove it");
  }

  YamlNode& add(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (document_.nodes_.size() == kYamlNodesMax) {
      refuse(place_of(mark), "more than 250000 values, more than a configuration can have");
    }
    YamlNode& node = document_.nodes_.emplace_back();
    node.kind = kind;
    node.place = place_of(mark);
    if (anchor != YAML::NullAnchor) {
      if (anchored_.size() <= anchor) anchored_.resize(anchor + 1);
      anchored_[anchor] = &node;
    }
    attach(&node);
    return node;
  }

  void attach(const YamlNode* node) {
    if (open_.empty()) {
      document_.root_ = node;
    } else if (open_.back()->kind == YamlNode::Kind::kList) {
      open_.back()->items.push_back(node);
    } else if (auto& entries = open_.back()->entries;
               entries.empty() || entries.back().value != nullptr) {
      entries.push_back({.key = node});
    } else {
      entries.back().value = node;
    }
  }

  // yaml-cpp reports a list before it recurses into it: refusing it here bounds the stack.
  void open(YamlNode& node) {
    if (open_.size() == kYamlDepthMax) {
      refuse(node.place, "nested more than 64 levels deep");
    }
    open_.push_back(&node);
  }

  void close() {
    const YamlNode& node = *open_.back();
    open_.pop_back();
    count_in(node, node.place);
  }

  // The loader walks an alias's nodes each time that it meets the alias.
  void count_in(const YamlNode& node, const TextPlace& place) {
    if (open_.empty()) return;
    std::size_t& sum = open_.back()->written_out;
    sum += node.written_out;
    if (sum <= kYamlWrittenOutMax) return;
    refuse(place, "with each alias written out these are more than 1000000 values; write fewer");
  }

  TextLines lines_;
  YamlDocument document_;
  std::vector<YamlNode*> open_;            // outermost first
  std::vector<const YamlNode*> anchored_;  // by yaml-cpp's number; the others are null
  int documents_ = 0;
};

namespace {

// Reads at most two documents: yaml-cpp 0.7 returns the same stray comma forever to a caller that
// reads all.
void parse_into(YamlTreeBuilder& builder, std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
}

}  // namespace

Result<YamlDocument, YamlError> YamlDocument::parse(std::string_view text) {
  if (auto error = check_yaml_text(text)) return *std::move(error);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());

  YamlTreeBuilder builder(text);
  try {
    parse_into(builder, text);
  } catch (Refusal& refusal) {
    return std::move(refusal.error);
  } catch (const YAML::ParserException& error) {
    return builder.explain(error);
  } catch (const std::bad_alloc&) {
    throw;  // not the text's mistake
  } catch (const std::exception& error) {
    return YamlError{{}, std::string("cannot be read as YAML: ") + error.what()};
  }
  return builder.take();
}

std::optional<std::string> to_json(const YamlNode& node, JsonFor reader) {
  std::int64_t left = kJsonNodesMax;
  const json::value value = tree(node, reader, left);
  return left < 0 ? std::nullopt : std::optional(to_json(value));
}

bool is_json_scalar(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  return !error && !value.is_structured() && to_json(value) == text;
}

std::string to_json(const json::value& value) {
  const auto json_of = [](const json::value& each) { return to_json(each); };
  if (const auto* const list = value.if_array()) return "[" + joined(*list, ",", json_of) + "]";
  if (const auto* const map = value.if_object()) {
    const auto field_text = [](const auto& field) {
      return json::serialize(field.key()) + ":" + to_json(field.value());
    };
    return "{" + joined(*map, ",", field_text) + "}";
  }
  const double* const number = value.if_double();
  if (number == nullptr) return json::serialize(value);
  std::array<char, 400> digits;  // as many as a double may have
  const auto fixed = std::chars_format::fixed;
  return {digits.data(), std::to_chars(digits.data(), digits.end(), *number, fixed).ptr};
}

}  // namespace weir
