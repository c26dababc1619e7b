// The readings of a request's path: what servers take it for.
//
// A client may write /login as //login, /x/../login, /%6Cogin, /x/..%2Flogin or /login;x, and some
// server will answer all of them. Servers differ in the order in which they decode, leave out what
// follows a ';', and resolve "." and "..", and no order is right for all:
//
//   /login;%2f..%2fx   decode, cut, resolve    /login/../x is /x
//                      cut, decode, resolve    /login: Tomcat
//                      decode                  /login;/../x: WSGI
//
// So each reading is matched as a request of its own, and the rules of all readings apply. The
// first reading is the one that rules are written for. Percent-encoded bytes are decoded once, NUL
// aside. A ';' and what follows it in its segment is left out; runs of '/' become one; "." and ".."
// are resolved as RFC 3986 says; what is malformed stays as it is.
//
// Most paths have one reading, and cost one look at each byte. A path that has more readings than
// kMax is hostile, and is to be refused. docs/reference/readings.md names the servers.
//
// Thread rule: a value of one thread. Tested by request_path_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir {

class PathReadings {
 public:
  static constexpr std::size_t kMax = 4;

  PathReadings() = default;
  PathReadings(const PathReadings&) = delete;  // its views are of its own texts
  PathReadings& operator=(const PathReadings&) = delete;

  // `path` without its query. False if it has more than kMax readings.
  bool read(std::string_view path);

  // Each of them once. They begin with '/', and view the path or this. At least one after read().
  std::span<const std::string_view> all() const { return {views_.data(), size_}; }

 private:
  bool has(std::string_view text) const;

  std::array<std::string, kMax + 1> texts_;  // one more, to see that there is no place for it
  std::array<std::string_view, kMax> views_;
  std::size_t size_ = 0;
};

}  // namespace weir
