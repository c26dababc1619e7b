// NodeAbout: what a node says of itself, for people; the other nodes of a fleet get it, too.
//
// Thread rule: values. Tested by src/store/redis/fleet/about_field_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir {

struct NodeAbout {
  // The most bytes of each.
  static constexpr std::size_t kTitleMax = 64;
  static constexpr std::size_t kAddressMax = 200;
  static constexpr std::size_t kWordMax = 32;  // version, mode
  static constexpr std::size_t kDegradedMax = 200;

  std::string id{};       // in the fleet, like no other's
  std::string title{};    // what people call it
  std::string address{};  // of its console; empty: it has none, or does not know
  std::string version{};
  std::string mode{};                     // of rules that name none
  std::optional<std::uint64_t> leases{};  // that it has requested since its start
  std::uint64_t memory = 0;               // of the process, in bytes; 0: unknown
  Duration beat{0};                       // how long Redis takes to answer one; 0: unknown
  std::string degraded{};                 // why, one sentence without its stop; empty: it is well
  Instant since{};                        // it is degraded, or well
  // How far its wall clock is ahead of Redis's, as it finds itself; 0: it does not know, or say.
  Duration clock_lead{0};
};

inline bool is_printable(std::string_view text, std::size_t size_max) {
  return text.size() <= size_max &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// http:// or https:// and a host, perhaps with its port: nothing else may become a link.
inline bool is_console_address(std::string_view text) {
  const bool is_web = text.starts_with("http://") || text.starts_with("https://");
  const std::string_view host = text.substr(std::min(text.size(), text.find("//") + 2));
  return is_web && !host.empty() && text.size() <= NodeAbout::kAddressMax &&
         std::ranges::all_of(host, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("-._:[]").find(c) != std::string_view::npos;
         });
}

}  // namespace weir
