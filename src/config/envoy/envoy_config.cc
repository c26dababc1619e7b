#include "config/envoy/envoy_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "config/config.h"
#include "config/fields/fields.h"
#include "config/fields/section_reader.h"
#include "config/rules/rule_config.h"
#include "config/yaml/yaml_document.h"
#include "rules/request/request.h"
#include "rules/rule.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// ---- the fields of the reference service's YAML, and our additions ----

extern const Section kDescriptor;  // contains itself

// Numbers are texts here: the reference service reads `key: 1` as "1".
constexpr Field kReplaceFields[] = {
    row::text("name", kAnyText, "The name of the limit that does not count if this one matches.")
        .required(),
};

constexpr Section kReplace = {"an item of 'replaces'", "A limit that is replaced.", kReplaceFields};

constexpr Field kRateLimitFields[] = {
    row::text("unit", kAnyText, "second, minute, hour, day, week, month or year, in any case."),
    row::integer<&QuotaSpec::limit>("requests_per_unit",
                                    {0, std::numeric_limits<std::uint32_t>::max()},
                                    "How many requests. 0 denies all."),
    row::boolean("unlimited", "Never counts or denies."),
    row::text<&DescriptorPolicy::name>("name", kAnyText, "What answers call the limit."),
    row::sections("replaces", kReplace, "The limits that do not count if this one matches."),
};

constexpr Section kRateLimit = {"'rate_limit'", "A limit.", kRateLimitFields};

constexpr Field kDescriptorFields[] = {
    row::text<&DescriptorEntry::key>("key", kAnyText, "The key of the entry.").required(),
    row::text<&DescriptorEntry::value>("value", kAnyText, "Its value, with '*' for any bytes."),
    row::section("rate_limit", kRateLimit, "The limit of a descriptor that ends here."),
    row::sections("descriptors", kDescriptor, "The entries that may follow."),
    row::boolean<&Rule::shadow>("shadow_mode", "Counts, never denies."),
    row::boolean<&DescriptorPolicy::quota_mode>("quota_mode",
                                                "Denies only if all of quota_mode do."),
    row::boolean<&DescriptorPolicy::detailed_metric>("detailed_metric",
                                                     "Metrics show the values of the request."),
    row::boolean<&DescriptorPolicy::value_to_metric>("value_to_metric",
                                                     "Metrics show the value of this entry."),
    row::boolean<&DescriptorEntry::shares>("share_threshold",
                                           "All values that match share one counter."),
    row::tree("metadata", "What answers pass on to Envoy."),
    row::choice<&QuotaSpec::algorithm>("algorithm", kAlgorithmNames,
                                       "Weir's own: how the limit is read."),
    row::duration<&QuotaSpec::window>("window", kWindowRange,
                                      "Weir's own: the window, instead of rate_limit.unit."),
    row::integer<&QuotaSpec::burst>(
        "burst", {1, kLimitMax},
        "Weir's own, for token_bucket: the most that can be spent at once."),
    row::boolean("overdraft",
                 "Weir's own: whether hits count whether or not they fit. Without it, those of a "
                 "fixed window do, and of another algorithm more than one at a time."),
};

constexpr Section kDescriptor = {"a descriptor", "One entry of a descriptor.", kDescriptorFields};

constexpr Field kFileFields[] = {
    row::text("domain", &kNotEmpty, "The domain of the rate limit filter.").required(),
    row::sections("descriptors", kDescriptor, "The entries a descriptor may begin with."),
};

constexpr Section kFile = {"the top level", "Limits of one domain.", kFileFields};

// ---- their reading ----

// Far more than anybody has. With aliases, a small file could describe more than memory holds.
constexpr std::size_t kDescriptorsMax = 100'000;

// The units are lengths, not calendar months.
struct Unit {
  std::string_view name;
  Duration length;
};
constexpr std::array kUnits = {
    Unit{"second", 1s},    Unit{"minute", 1min},    Unit{"hour", 1h},        Unit{"day", 24h},
    Unit{"week", 7 * 24h}, Unit{"month", 30 * 24h}, Unit{"year", 365 * 24h},
};

std::optional<Duration> unit_length(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (equal_ignoring_case(unit.name, name)) return unit.length;
  }
  return std::nullopt;
}

void append_escaped(std::string& id, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '%': id += "%25"; break;
      case '/': id += "%2F"; break;
      case '=': id += "%3D"; break;
      default: id += c;
    }
  }
}

std::string id_of(const DescriptorMatch& match) {
  std::string id;
  append_escaped(id, match.domain);
  if (match.entries.empty()) id += '/';
  for (const DescriptorEntry& entry : match.entries) {
    append_escaped(id += '/', entry.key);
    if (entry.value) append_escaped(id += '=', entry.value->text);
  }
  return id;
}

class EnvoyReader {
 public:
  explicit EnvoyReader(Algorithm algorithm) : algorithm_(algorithm) {}

  std::vector<Rule> read(const SectionReader& reader) {
    path_.domain = reader.get<std::string>("domain").value_or("");
    // The domain exists, even if it limits nothing.
    add({.effect = Rule::Effect::kExempt});
    read_level(reader);
    return std::move(rules_);
  }

 private:
  // `above`: the file or the descriptor that contains the level.
  void read_level(const SectionReader& above) {
    std::map<std::pair<std::string, std::optional<std::string>>, std::size_t> seen;
    above.for_each("descriptors", [&](const SectionReader& reader) {
      const auto key = reader.get<std::string>("key").value_or("");
      const auto value = reader.get<std::string>("value");
      const auto [first, fresh] = seen.emplace(std::pair(key, value), reader.place().line);
      if (!fresh) {
        reader.mistake(reader.place(), "duplicate descriptor; key and value are those of line " +
                                           std::to_string(first->second));
      } else {
        read_descriptor(reader);
      }
    });
  }

  void read_descriptor(const SectionReader& reader) {
    if (path_.entries.size() == Descriptor::kEntriesMax) {
      return reader.mistake("key",
                            "more than " + std::to_string(Descriptor::kEntriesMax) + " levels");
    }
    if (++descriptors_ > kDescriptorsMax) {
      return reader.mistake("key", "more than " + std::to_string(kDescriptorsMax) + " descriptors");
    }
    path_.entries.push_back(read_entry(reader));
    Rule rule = read_rule(reader);
    if (const auto limit = reader.section("rate_limit")) {
      read_limit(*limit, reader, rule);
      add(std::move(rule));
    } else if (!reader.get<const YamlNode*>("descriptors")) {
      rule.effect = Rule::Effect::kExempt;  // shields this value from the limits around it
      add(std::move(rule));
    }
    read_level(reader);
    path_.entries.pop_back();
  }

  static DescriptorEntry read_entry(const SectionReader& reader) {
    DescriptorEntry entry = read_descriptor_entry(reader);
    if (reader.is_set("key") && entry.key.empty()) {
      reader.mistake("key", "'key' must not be empty");
    }
    // As in the reference service, an empty value means no value.
    if (entry.value && entry.value->text.empty()) entry.value.reset();
    return entry;
  }

  static Rule::Overdraft read_overdraft(const SectionReader& reader) {
    const auto said = reader.get<bool>("overdraft");
    if (!said) return Rule::Overdraft::kEnvoy;
    return *said ? Rule::Overdraft::kAll : Rule::Overdraft::kNone;
  }

  static Rule read_rule(const SectionReader& reader) {
    Rule rule{.overdraft = read_overdraft(reader)};
    reader.fill(rule);
    reader.fill(rule.policy);
    const auto metadata = reader.get<const YamlNode*>("metadata");
    if (!metadata) return rule;
    auto json = to_json(**metadata, JsonFor::kOthers);
    if (!json) reader.mistake("metadata", "'metadata' is too large");
    rule.policy.metadata_json = std::move(json).value_or("");
    return rule;
  }

  void read_limit(const SectionReader& reader, const SectionReader& descriptor, Rule& rule) const {
    reader.fill(rule.policy);
    read_replaces(reader, rule.policy);
    if (reader.get<bool>("unlimited").value_or(false)) {
      rule.effect = Rule::Effect::kUnlimited;
      if (!reader.is_set("unit")) return;
      return reader.mistake("unit", "an unlimited limit has no unit; remove one of them");
    }
    const auto window = read_window(reader, descriptor);
    if (window && reader.valid() && descriptor.valid()) {
      make_quota(reader, descriptor, *window, rule);
    }
  }

  static std::optional<Duration> read_window(const SectionReader& limit,
                                             const SectionReader& descriptor) {
    const auto window = descriptor.get<Duration>("window");
    if (window && limit.is_set("unit")) {
      descriptor.mistake("window",
                         "'window' takes the place of rate_limit.unit; remove one of them");
    }
    if (window) return window;
    const auto unit = limit.get<std::string>("unit");
    if (!unit && !limit.is_set("unit")) {
      limit.mistake("unit",
                    "'rate_limit' needs 'unit': second, minute, hour, "
                    "day, week, month or year");
    }
    if (!unit) return std::nullopt;
    const auto length = unit_length(*unit);
    if (!length) limit.reject("unit", "second, minute, hour, day, week, month or year");
    return length;
  }

  void make_quota(const SectionReader& limit, const SectionReader& descriptor, Duration window,
                  Rule& rule) const {
    QuotaSpec spec{.algorithm = algorithm_};
    limit.fill(spec);
    descriptor.fill(spec);
    spec.window = window;
    const auto quota = Quota::make(spec);
    if (quota) {
      rule.quota = *quota;
      return;
    }
    const bool is_burst = quota.error().field == "burst";
    limit.mistake(is_burst ? descriptor.place_of("burst") : limit.place_of("requests_per_unit"),
                  "the limit cannot be enforced: '" + std::string(quota.error().field) +
                      "' must be " + std::string(quota.error().expected));
  }

  static void read_replaces(const SectionReader& limit, DescriptorPolicy& policy) {
    limit.for_each("replaces", [&](const SectionReader& reader) {
      const auto name = reader.get<std::string>("name").value_or("");
      if (reader.is_set("name") && (name.empty() || name == policy.name)) {
        reader.mistake("name",
                       "a limit replaces others by their names, which are "
                       "not empty and not its own");
      }
      policy.replaces.push_back(name);
    });
  }

  void add(Rule rule) {
    rule.descriptor = path_;
    rule.id = id_of(path_);
    rules_.push_back(std::move(rule));
  }

  const Algorithm algorithm_;
  DescriptorMatch path_;
  std::size_t descriptors_ = 0;
  std::vector<Rule> rules_;
};

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; entry != end(entry); entry.increment(error)) {
    const auto extension = entry->path().extension();
    if (extension == ".yaml" || extension == ".yml") files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

Result<std::vector<Rule>, ConfigErrors> load_file(const std::string& path, Algorithm algorithm) {
  auto text = read_config_file(path);
  if (!text) return std::move(text.error());
  return parse_envoy_config(*text, path, algorithm);
}

}  // namespace

Result<std::vector<Rule>, ConfigErrors> parse_envoy_config(std::string_view text,
                                                           const std::string& file,
                                                           Algorithm algorithm) {
  Mistakes mistakes(file);
  std::vector<Rule> rules;
  auto parsed = YamlDocument::parse(text);
  if (!parsed) {
    mistakes.add(parsed.error().place, std::move(parsed.error().message));
    return mistakes.take();
  }
  const YamlNode* root = parsed->root();
  if (root == nullptr || root->kind != YamlNode::Kind::kMap) {
    mistakes.add(root == nullptr ? TextPlace{} : root->place,
                 "the file must be a map with 'domain' and 'descriptors'");
  } else {
    rules = EnvoyReader(algorithm).read(SectionReader(kFile, *root, mistakes));
  }
  if (!mistakes.empty()) return mistakes.take();
  return rules;
}

Result<std::vector<Rule>, ConfigErrors> load_envoy_config(const std::string& path,
                                                          Algorithm algorithm) {
  std::error_code unknown;  // reading the file says more
  if (!std::filesystem::is_directory(path, unknown)) return load_file(path, algorithm);

  const auto files = yaml_files(path);
  if (files.empty()) return ConfigErrors{{.file = path, .message = "holds no *.yaml file"}};
  std::vector<Rule> all;
  std::map<std::string, std::string> domains;  // with their files
  for (const std::string& file : files) {
    auto loaded = load_file(file, algorithm);
    if (!loaded) return loaded;
    auto& rules = *loaded;
    const std::string& domain = rules.front().descriptor->domain;
    const auto [first, fresh] = domains.emplace(domain, file);
    if (!fresh) {
      return ConfigErrors{{.file = file,
                           .message = "the domain '" + domain + "' is in " + first->second +
                                      " already; put all of a domain in one file"}};
    }
    std::ranges::move(rules, std::back_inserter(all));
  }
  return all;
}

}  // namespace weir
