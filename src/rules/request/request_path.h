// The path of a request in the one spelling that rules are written for.
//
// A client may write /login as //login, /x/../login, /%6Cogin, /x/..%2Flogin, /./login or
// /login;x, and some origin will answer all of them. So before rules look: percent-encoded
// bytes are decoded once, NUL aside; a ';' and what follows it in its segment is left out, as
// Java's servers do; runs of '/' become one; "." and ".." are resolved as RFC 3986 says; what
// is malformed stays as it is. An origin that keeps %2F apart from '/', or reads ';', has more
// paths than rules can tell apart: they share a rule, which no client can turn to its good.
//
// Thread rule: pure. Tested by request_path_test.cc.

#pragma once

#include <string>
#include <string_view>

namespace weir {

// `path` without its query. Returns `path` itself where nothing has to change, else a view
// of `scratch`, which is reused. The result begins with '/'.
std::string_view normal_path(std::string_view path, std::string& scratch);

}  // namespace weir
