// One HTTP request, blocking, for commands that ask a running server.
//
// Thread rule: any. Tested by http_client_test.cc.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir {

struct HttpReply {
  unsigned status = 0;
  std::string body;
};

// Why there is no reply: a sentence that names the server.
class HttpClientError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Posts JSON to http://HOST:PORT and a path below it. All of it may take as long as `patience`,
// and a reply of over 1 MiB is refused. Throws HttpClientError.
HttpReply post_json(std::string_view server, std::string_view path, std::string_view json,
                    Duration patience);

struct HttpQuestion {
  std::string path;     // and query
  std::string token{};  // for Authorization: Bearer; empty: none
  std::string method = "GET";
  std::string body{};  // JSON; empty: none
};
// The same by any method.
HttpReply ask_json(std::string_view server, const HttpQuestion& question, Duration patience);

}  // namespace weir
