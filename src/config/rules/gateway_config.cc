// The fields of a rule that only a gateway applies: nginx with Weir in it, which passes requests on
// to an origin.

#include <optional>
#include <string>
#include <string_view>

#include "config/rules/rule_config.h"

namespace weir {
namespace {

// Reads fields of one rule for one kind of server.
class GatewayFields {
 public:
  GatewayFields(const SectionReader& reader, const Config& config)
      : reader_(reader), served_by_(config.served_by) {}

  void read_response_count(Rule& rule) const {
    const auto cost = reader_.get<std::string>("cost");
    const bool is_response_cost = cost && cost->starts_with(kOfResponse);
    const auto count_if = reader_.section("count_if");
    if (is_response_cost) rule.response = {.cost_header = header_in(*cost)};
    if (count_if)
      read_statuses(*count_if, rule.response ? *rule.response : rule.response.emplace());
    if (count_if) needs_gateway("count_if", "the response");
    if (is_response_cost) needs_gateway("cost", "the response");
    if (!rule.response || !reader_.is_set("overdraft")) return;
    reader_.mistake("overdraft",
                    "what is counted when the response is known counts whether or not it fits; "
                    "remove 'overdraft'");
  }

  // A denial for the moment is no reason to block.
  void read_concurrency(Rule& rule) const {
    if (rule.effect != Rule::Effect::kConcurrency) return;
    rule.mode = Mode::kLocal;
    needs_gateway("of", "when requests end");
    if (rule.denial.blocks.empty()) return;
    reader_.mistake("on_deny", "'block' is only for 'of: requests'; remove one");
  }

 private:
  void needs_gateway(std::string_view field, std::string_view what) const {
    if (served_by_ == ServedBy::kGateway) return;
    reader_.mistake(field, "only nginx with Weir in it sees " + std::string(what) + "; remove '" +
                               std::string(field) +
                               "', or serve the rule there (weir gateway, docs/nginx.md)");
  }

  std::string header_in(std::string_view cost) const {
    const auto part = parse_key_part("header:" + std::string(cost.substr(kOfResponse.size())));
    if (part) return part->name;
    reader_.mistake("cost", "'cost' must name a header of the response, such as response:X-Cost");
    return {};
  }

  static void read_statuses(const SectionReader& count_if, ResponseCount& count) {
    for (const YamlNode* text : count_if.texts("status")) {
      const auto statuses = parse_statuses(text->text);
      if (statuses) {
        count.statuses.push_back(*statuses);
      } else {
        count_if.mistake(text->place,
                         "'status' must be one from 100 to 599, such as 401, or 5xx for all from "
                         "500 to 599, or a list of such");
      }
    }
  }

  const SectionReader& reader_;
  const ServedBy served_by_;
};

}  // namespace

void read_gateway_effects(const SectionReader& reader, const Config& config, Rule& rule) {
  const GatewayFields fields(reader, config);
  fields.read_response_count(rule);
  fields.read_concurrency(rule);
}

}  // namespace weir
