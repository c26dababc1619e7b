#include "gate/described_request.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/byte_search.h"

namespace weir {
namespace {

// Turns "Example.com:8080" into "example.com"; drops the brackets of an IPv6 address, too.
std::string_view plain_host(std::string_view host, std::string& scratch) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host.ends_with('.')) host.remove_suffix(1);  // "example.com." is the same host
  const bool has_capitals = has_byte(host, [](ByteGroup bytes) { return bytes - 'A' < 26; });
  if (!has_capitals) return host;
  scratch.assign(host);
  for (char& c : scratch) c = ascii_lower(c);
  return scratch;
}

}  // namespace

bool set_uri(std::string_view uri, DescribedRequest& described) {
  Request& request = described.request;
  std::string_view path = uri;
  if (has_byte(uri, [](ByteGroup bytes) { return (bytes == '#') | (bytes == '?'); })) {
    uri = uri.substr(0, uri.find('#'));  // if a proxy lets '#' in, the origin's path ends there
    path = uri.substr(0, uri.find('?'));
    request.query = uri.substr(std::min(uri.size(), path.size() + 1));
  }
  const bool is_clear = described.paths.read(path);
  request.path = described.paths.all().front();
  request.other_paths = described.paths.all().subspan(1);
  return is_clear;
}

void set_host(std::string_view host, DescribedRequest& described) {
  described.request.host = plain_host(host, described.host);
}

bool set_target(std::string_view uri, std::string_view host, DescribedRequest& described) {
  set_host(host, described);
  return set_uri(uri, described);
}

}  // namespace weir
