#include "base/listen_address.h"

#include "base/decimal.h"

namespace weir {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

// Reads the address with or without brackets. Refuses a zone and a NUL.
std::optional<IpAddress> host_in(std::string_view text, bool is_v6) {
  constexpr std::string_view kNoPart("%\0", 2);
  const auto host =
      text.find_first_of(kNoPart) == text.npos ? IpAddress::parse(text) : std::nullopt;
  return is_v6 == (text.find(':') != text.npos) ? host : std::nullopt;
}

}  // namespace

std::optional<ListenAddress> ListenAddress::parse(std::string_view text) {
  if (text.starts_with(kUnixScheme)) {
    const auto path = text.substr(kUnixScheme.size());
    const bool is_file =
        path.starts_with('/') && !path.ends_with('/') && path.find('\0') == path.npos;
    return is_file ? std::optional(ListenAddress{.path = path}) : std::nullopt;
  }
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const auto port = read_port(text.substr(colon + 1));
  std::string_view name = text.substr(0, colon);
  const bool is_v6 = name.starts_with('[') && name.ends_with(']');
  if (is_v6) name = name.substr(1, name.size() - 2);
  if (name == "localhost" && !is_v6) name = "127.0.0.1";
  const auto host = host_in(name, is_v6);
  if (!host || !port) return std::nullopt;
  return ListenAddress{.host = *host, .is_v6 = is_v6, .port = *port};
}

}  // namespace weir
