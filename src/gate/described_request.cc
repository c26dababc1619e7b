#include "gate/described_request.h"

#include "base/ascii.h"

namespace weir {
namespace {

// "Example.com:8080" is "example.com"; the brackets of an IPv6 address go, too.
std::string_view plain_host(std::string_view host, std::string& scratch) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host.ends_with('.')) host.remove_suffix(1);  // "example.com." is the same host
  scratch.assign(host);
  for (char& c : scratch) c = ascii_lower(c);
  return scratch;
}

}  // namespace

bool set_uri(std::string_view uri, DescribedRequest& described) {
  Request& request = described.request;
  uri = uri.substr(0, uri.find('#'));  // where a proxy lets it in, the origin ends there
  const auto question_mark = uri.find('?');
  if (question_mark != std::string_view::npos) request.query = uri.substr(question_mark + 1);
  const bool is_clear = described.paths.read(uri.substr(0, question_mark));
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
