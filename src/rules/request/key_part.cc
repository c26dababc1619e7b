#include "rules/request/key_part.h"

#include <charconv>
#include <iterator>
#include <utility>

namespace weir {
namespace {

using PartName = std::pair<std::string_view, KeyPart::Property>;

constexpr PartName kPlainParts[] = {{"client", KeyPart::Property::kClient},
                                    {"method", KeyPart::Property::kMethod},
                                    {"host", KeyPart::Property::kHost},
                                    {"path", KeyPart::Property::kPath},
                                    {"country", KeyPart::Property::kCountry}};
constexpr PartName kNamedParts[] = {{"header:", KeyPart::Property::kHeader},
                                    {"query:", KeyPart::Property::kQuery},
                                    {"cookie:", KeyPart::Property::kCookie},
                                    {"jwt:", KeyPart::Property::kClaim}};
constexpr std::string_view kNetworkPrefix = "client/";

// "client/24/48".
std::optional<KeyPart> parse_network_part(std::string_view text) {
  KeyPart part{.property = KeyPart::Property::kClient};
  const char* const end = text.data() + text.size();
  const auto v4 = std::from_chars(text.data() + kNetworkPrefix.size(), end, part.v4_bits);
  if (v4.ec != std::errc() || v4.ptr == end || *v4.ptr != '/') return std::nullopt;
  const auto v6 = std::from_chars(v4.ptr + 1, end, part.v6_bits);
  if (v6.ec != std::errc() || v6.ptr != end) return std::nullopt;
  if (part.v4_bits > 32 || part.v6_bits > 128) return std::nullopt;
  return part;
}

}  // namespace

std::string_view client_text(const KeyPart& part, const std::optional<IpAddress>& client,
                             PartScratch& text) {
  if (!client) return {};
  const bool is_v4 = client->is_v4();
  const unsigned bits = is_v4 ? part.v4_bits : part.v6_bits;
  const auto room = std::span(text).first<IpAddress::kTextMax + 1>();
  if (bits == (is_v4 ? 32U : 128U)) return client->write(room);
  const auto address = client->network(bits).write(room);
  char* const slash = text.data() + address.size();
  *slash = '/';
  const char* const end = std::to_chars(slash + 1, text.data() + text.size(), bits).ptr;
  return {text.data(), end};
}

std::optional<std::string_view> one_value(const KeyPart& part, const Request& request,
                                          PartScratch& scratch) {
  // Most keys. A request has one client.
  if (part.property == KeyPart::Property::kClient)
    return client_text(part, request.client, scratch);
  std::optional<std::string_view> text;
  bool differ = false;
  for_each_value(part, request, scratch, [&](std::string_view value) {
    differ = differ || (text && value != *text);
    text = value;
  });
  if (differ) return std::nullopt;
  return text.value_or(std::string_view());
}

std::optional<KeyPart> parse_key_part(std::string_view text) {
  for (const auto& [prefix, property] : kNamedParts) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
    return KeyPart{.property = property, .name = std::string(text.substr(prefix.size()))};
  }
  for (const auto& [name, property] : kPlainParts) {
    if (text == name) return KeyPart{.property = property};
  }
  return text.starts_with(kNetworkPrefix) ? parse_network_part(text) : std::nullopt;
}

void append_name(const KeyPart& part, std::string& text) {
  const auto is_it = [&](const PartName& name) { return name.second == part.property; };
  const auto* const plain = std::ranges::find_if(kPlainParts, is_it);
  if (plain != std::end(kPlainParts)) {
    text += plain->first;
  } else {
    text.append(std::ranges::find_if(kNamedParts, is_it)->first).append(part.name);
  }
}

}  // namespace weir
