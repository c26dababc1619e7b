#include "store/redis/fleet/about_field.h"

#include <algorithm>
#include <cstdlib>

#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';
constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 53;
constexpr std::int64_t kBeatMaxUs = 3'600'000'000;
constexpr std::uint64_t kSinceMaxS = std::uint64_t{100} * 366 * 24 * 3600;

std::string_view cut(std::string_view text, std::size_t size_max) {
  return text.substr(0, std::min(text.size(), size_max));
}

}  // namespace

std::string to_bytes(const NodeAbout& about, Instant now) {
  const auto beat = std::chrono::ceil<std::chrono::microseconds>(about.beat).count();
  const auto since = std::chrono::floor<std::chrono::seconds>(now - about.since).count();
  PackedWriter out;
  out.version(kVersion).text(cut(about.title, NodeAbout::kTitleMax)).text(about.address);
  out.text(cut(about.version, NodeAbout::kWordMax)).text(cut(about.mode, NodeAbout::kWordMax));
  out.number(about.leases ? std::min(*about.leases, kNumberMax - 1) + 1 : 0);
  out.number(std::min(about.memory, kNumberMax));
  out.number(static_cast<std::uint64_t>(std::clamp<std::int64_t>(beat, 0, kBeatMaxUs)));
  out.text(cut(about.degraded, NodeAbout::kDegradedMax));
  out.number(std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0)), kSinceMaxS));
  const auto lead = std::chrono::duration_cast<std::chrono::seconds>(about.clock_lead).count();
  const auto apart = std::min(static_cast<std::uint64_t>(std::abs(lead)), kSinceMaxS);
  out.number(2 * apart + (lead < 0 ? 1 : 0));
  return out.take();
}

std::optional<NodeAbout> node_about(std::string_view bytes, Instant now) {
  PackedReader in(bytes);
  in.version(kVersion);
  NodeAbout about{.title = std::string(in.text(NodeAbout::kTitleMax)),
                  .address = std::string(in.text(NodeAbout::kAddressMax)),
                  .version = std::string(in.text(NodeAbout::kWordMax)),
                  .mode = std::string(in.text(NodeAbout::kWordMax))};
  for (const std::string* text : {&about.title, &about.version, &about.mode}) {
    in.require(is_printable(*text, NodeAbout::kTitleMax));
  }
  in.require(about.address.empty() || is_console_address(about.address));
  if (const std::uint64_t leases = in.number(kNumberMax); leases > 0) about.leases = leases - 1;
  about.memory = in.number(kNumberMax);
  about.beat = std::chrono::microseconds(in.number(kBeatMaxUs));
  about.degraded = in.text(NodeAbout::kDegradedMax);
  about.since = now - std::chrono::seconds(in.number(kSinceMaxS));
  if (in.has_more()) {
    const std::uint64_t apart = in.number(2 * kSinceMaxS + 1);
    about.clock_lead = std::chrono::seconds(apart / 2) * (apart % 2 == 0 ? 1 : -1);
  }
  if (!in.is_right()) return std::nullopt;
  return about;
}

// In beat.lua's form: a hash of words, each of which counts for a while.
void AboutField::say(std::vector<std::string>& words, Instant now) {
  const std::int64_t nodes = std::max(kNodesMax, state_.live_nodes());
  due_ = now + kEvery * std::min(nodes, kSeldom * kNodesMax) / kNodesMax;
  words.push_back(node_);
  words.push_back(std::to_string(kKeptMax / std::chrono::seconds(1)));
  words.push_back(std::to_string(kNodesMax * kNodesMax / nodes));
  words.push_back(std::to_string(kBytesMax));
  words.push_back(to_bytes(own_(), now));
}

std::string AboutField::hear(const resp::Reply& told, Instant now) {
  std::vector<NodeAbout> others;
  each_pair(told, 0, [&](std::string_view id, std::string_view word) {
    auto about = node_about(word, now);
    if (!about) return;
    about->id = id;
    others.push_back(*std::move(about));
  });
  if (told.is_list()) state_.set_others(std::move(others));
  return {};
}

}  // namespace weir
