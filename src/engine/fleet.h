// Fleet: the nodes that share a store, as one core of one node sees them. Its stores also write
// their decisions to this node's own counters, which decide when a store fails.
//
// Thread rule: one core. Implemented by store/redis.

#pragma once

#include <cstdint>
#include <span>

#include "rules/mode.h"
#include "rules/promise.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

class SharedHolds;

class Fleet {
 public:
  // The store that decides in this mode. It answers on this core, at once or later.
  // REQUIRES: not kLocal; the fleet of all places has kWorld, and only that
  virtual Store& store(Mode mode) = 0;

  // Decides as mode leased does, but only if memory knows every charge; else it fails at once and
  // changes nothing.
  virtual Store& leases_at_hand() = 0;

  // The holds of mode strict, or the slots that nodes lend in mode leased. Null: the mode cannot
  // hold. REQUIRES: kStrict or kLeased
  virtual SharedHolds* holds(Mode) { return nullptr; }

  // The hasher for keys of all places, which have their own secret. Null: the engine's hasher.
  virtual const KeyHasher* hasher() const { return nullptr; }
  // Whether that secret is not known yet: then only this node knows the names.
  virtual bool awaits_hasher() const { return false; }

  // The mode of rules and calls that name none.
  virtual Mode default_mode() const = 0;

  // Whether several machines keep the keys, so that one may fail while others answer.
  virtual bool is_spread() const = 0;

  // How long a request may wait for all that it asks of the stores.
  virtual Duration patience() const = 0;

  // Nodes that are alive, this one included; at least 1.
  virtual std::int64_t live_nodes() const = 0;

  // How current the nodes' knowledge of each other is, about keys of the quota.
  virtual SharingFacts sharing(const Quota& quota, Instant now) const = 0;

  // The store of a mode failed, and this node admitted the charge on its own. The store is charged
  // once it is back.
  virtual void admitted_alone(const Charge&, Instant /*now*/) {}
  // The same, for all limits of a key that has no common name yet (Engine::await_hasher).
  virtual void admitted_early(const KeyName&, std::span<const Quota> /*limits*/,
                              std::int64_t /*cost*/, Instant /*now*/) {}
  // The same for a key that only this node counts: its own counters are charged, under the key's
  // new name.
  virtual void counted_early(const KeyName&, std::span<const Quota> /*limits*/,
                             std::int64_t /*cost*/, Instant /*now*/) {}

 protected:
  ~Fleet() = default;
};

}  // namespace weir
