// NodeAbout: what a node tells people about itself; the fleet's other nodes get it, too.
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
  // The most bytes of each text.
  static constexpr std::size_t kTitleMax = 64;
  static constexpr std::size_t kAddressMax = 200;
  static constexpr std::size_t kWordMax = 32;  // version, mode
  static constexpr std::size_t kDegradedMax = 200;

  std::string id{};       // unique in the fleet
  std::string title{};    // people's name for it
  std::string address{};  // of its console; empty: none, or unknown
  std::string version{};
  std::string mode{};                     // for rules that name none
  std::optional<std::uint64_t> leases{};  // requested since the node's start
  std::uint64_t memory = 0;               // of the process, in bytes; 0: unknown
  Duration beat{0};                       // Redis's time to answer one; 0: unknown
  std::string degraded{};                 // why, a sentence without its stop; empty: it is not
  Instant since{};                        // since when it is degraded, or well
  // How far the node's wall clock is ahead of Redis's, as it measures itself; 0: unknown.
  Duration clock_lead{0};
};

inline bool is_printable(std::string_view text, std::size_t size_max) {
  return text.size() <= size_max &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// http:// or https:// and a host, perhaps with a port. Nothing else may become a link.
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
