// Another node's words in Redis, in every field of the beat. The node reads or ignores them, and
// what it says next stays within its bounds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "engine/shared/shared_rules.h"
#include "engine/switching/rule_switches.h"
#include "engine/tenants/shared_tenants.h"
#include "observe/keys/fleet_keys.h"
#include "observe/recent_traffic.h"
#include "observe/traffic.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/fleet/about_field.h"
#include "store/redis/fleet/beat_fields.h"
#include "store/redis/fleet/busiest_field.h"
#include "store/redis/fleet/switches_field.h"
#include "store/redis/fleet/traffic_field.h"

namespace weir {
namespace {

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);
constexpr Duration kBeat = std::chrono::milliseconds(700);

// One node, and what its fields know.
class Node {
 public:
  // Each field hears of one reply, in turn.
  void hear(const resp::Reply& told) {
    BeatField& field = *fields_[turn_++ % fields_.size()];
    static_cast<void>(field.hear(told, now_));
    now_ += kBeat;
    std::vector<std::string> words;
    field.say(words, now_);
    WEIR_ASSERT(words.size() <= 5 * SwitchesField::kSwitchesMax + 2);
    if (field.due()) WEIR_ASSERT(*field.due() < now_ + std::chrono::hours(1));
    WEIR_ASSERT(blocks_.list("", 64, now_).size() <= 64 && nodes_.heard({}).live >= 1);
    for (const NodeAbout& about : state_.shown(Mode::kStrict, *recent_.snapshot()).others) {
      WEIR_ASSERT(is_printable(about.title, NodeAbout::kTitleMax));
      WEIR_ASSERT(about.address.empty() || is_console_address(about.address));
    }
    if (const auto news = tenants_.news()) {
      const TenantTable none(news->secret);
      TenantTable::Edits edits;
      bool is_right = true;
      for (const auto& [bucket, rows] : news->buckets) {
        is_right = is_right && none.read_bucket(bucket, rows, edits);
      }
      const auto table = is_right ? none.edited(std::move(edits)).table : nullptr;
      WEIR_ASSERT(!is_right || table != nullptr);
      tenants_.take(news->head, table);
      WEIR_ASSERT(tenants_.known().number <= SharedTenants::kNumberMax);
    }
    WEIR_ASSERT(rules_.current().head.number <= SharedRules::kNumberMax &&
                !rules_.hold().nodes.empty());
  }

 private:
  Instant now_ = kStart;
  std::size_t turn_ = 0;
  FleetListener listener_;
  Traffic traffic_;
  RecentTraffic recent_{traffic_, kStart};
  ActiveAlgorithms active_;
  RuleSwitches switches_{{}, active_, {}};
  FleetKeys keys_{KeyTexts::kShown};
  KeyHasher hasher_{HashSecret{}};
  BlockList blocks_{hasher_, 64};
  NodesField nodes_{"me"};
  FleetState state_{1, kStart};
  NewsField news_{state_};
  SecretField secret_{"weir:secret", HashSecret{}};
  BlocksField blocks_field_{"me", blocks_};
  SwitchesField switches_field_{"weir:switches", switches_, listener_};
  TrafficField traffic_field_{"me", recent_, listener_};
  BusiestField busiest_field_{"me", traffic_.rules(), keys_};
  SharedRules rules_{"me", [](Instant) {}};
  RulesField rules_field_{"weir:rules", "me", rules_, listener_};
  AboutField about_field_{"me", [] { return NodeAbout{.title = "web-1"}; }, state_};
  SharedTenants tenants_{[](Instant) {}};
  TenantsField tenants_field_{"weir:tenants", "me", tenants_, listener_};
  std::array<BeatField*, 10> fields_{
      &blocks_field_, &switches_field_, &traffic_field_, &rules_field_,   &busiest_field_,
      &secret_,       &nodes_,          &about_field_,   &tenants_field_, &news_};
};

}  // namespace
}  // namespace weir

// Replies of Redis, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  weir::Node node;
  weir::resp::ReplyReader reader;
  while (reader.read(bytes) == weir::resp::ReplyReader::Status::kReply) {
    node.hear(reader.reply());
    bytes.remove_prefix(reader.size());
  }
  return 0;
}
