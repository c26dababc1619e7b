#include "rules/explain.h"

namespace weir {
namespace {

// A match with nothing but one of its conditions.
template <auto kMember>
RequestMatch only(const RequestMatch& match) {
  RequestMatch one;
  one.*kMember = match.*kMember;
  return one;
}

struct Condition {
  std::string_view name;
  RequestMatch (*only)(const RequestMatch&);
};

constexpr Condition kConditions[] = {
    {"method", only<&RequestMatch::methods>},
    {"host", only<&RequestMatch::hosts>},
    {"path", only<&RequestMatch::paths>},
    {"path_regex", only<&RequestMatch::path_regexes>},
    {"query", only<&RequestMatch::parameters>},
    {"header", only<&RequestMatch::headers>},
    {"cookie", only<&RequestMatch::cookies>},
    {"jwt", only<&RequestMatch::claims>},
    {"jwt", only<&RequestMatch::unverified_claims>},
    {"country", only<&RequestMatch::countries>},
    {"client", only<&RequestMatch::clients>},
    {"all", only<&RequestMatch::all_of>},
    {"any", only<&RequestMatch::any_of>},
    {"not", only<&RequestMatch::none_of>},
};

}  // namespace

std::optional<std::string_view> failed_condition(const RequestMatch& match, const Request& request,
                                                 std::span<const int> regexes) {
  for (const Condition& condition : kConditions) {
    if (!holds(condition.only(match), request, regexes)) return condition.name;
  }
  return std::nullopt;
}

}  // namespace weir
