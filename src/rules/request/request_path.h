// The readings of a request's path: how servers may understand it.
//
// A client may write /login as //login, /x/../login, /%6Cogin, /x/..%2Flogin or /login;x, and some
// server will answer each of them. Servers decode, leave out what follows a ';', and resolve "."
// and ".." in different orders, and no order is right for all:
//
//   /login;%2f..%2fx   decode, cut, resolve    /login/../x is /x
//                      cut, decode, resolve    /login: Tomcat
//                      decode                  /login;/../x: WSGI
//
// So each reading is matched like a request of its own, and the rules of all readings apply. Rules
// are written for the first reading. In it, percent-encoded bytes are decoded once, except NUL. A
// ';' and the rest of its segment is left out; runs of '/' become one; "." and ".." are resolved as
// RFC 3986 says; malformed parts stay as they are.
//
// Most paths have one reading, and cost one look at each byte. A path with more than kMax readings
// is hostile: the host refuses it. docs/reference/readings.md names the servers.
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
  PathReadings(const PathReadings&) = delete;  // its views refer to its own texts
  PathReadings& operator=(const PathReadings&) = delete;

  // Reads `path`, which has no query. False if it has more than kMax readings.
  bool read(std::string_view path);

  // Each reading once. They begin with '/', and view the path or this. At least one after read().
  std::span<const std::string_view> all() const { return {views_.data(), size_}; }

 private:
  bool has(std::string_view text) const;

  std::array<std::string, kMax + 1> texts_;  // one more than kMax, to notice too many
  std::array<std::string_view, kMax> views_;
  std::size_t size_ = 0;
};

}  // namespace weir
