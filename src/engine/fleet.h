// Fleet: the nodes that share a store, as one core of one of them sees it. Its stores enter what
// they decide in this node's own counters, too, which decide when a store fails.
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
  // REQUIRES: not kLocal; kWorld of the fleet of all places, and of that nothing else
  virtual Store& store(Mode mode) = 0;

  // Decides as mode leased does, at once, if memory knows of every charge, else fails and
  // changes nothing.
  virtual Store& leases_at_hand() = 0;

  // The holds of mode strict, or the slots that nodes lend in mode leased. Null: that mode holds
  // nothing. REQUIRES: kStrict or kLeased
  virtual SharedHolds* holds(Mode) { return nullptr; }

  // What names the keys of all places, which have a secret of their own. Null: the engine's hasher.
  virtual const KeyHasher* hasher() const { return nullptr; }
  // It does not know that secret yet: only this node knows the names.
  virtual bool awaits_hasher() const { return false; }

  // The mode of rules and calls that name none.
  virtual Mode default_mode() const = 0;

  // Keys are kept on several machines, of which one may fail while others answer.
  virtual bool is_spread() const = 0;

  // How long a request may wait for all that it asks.
  virtual Duration patience() const = 0;

  // Nodes that are alive, this one included; at least 1.
  virtual std::int64_t live_nodes() const = 0;

  // How current what the nodes know of each other is, about keys of the quota.
  virtual SharingFacts sharing(const Quota& quota, Instant now) const = 0;

  // The store of a mode has failed, and this node has admitted the charge by itself. The store is
  // charged when it is back.
  virtual void admitted_alone(const Charge&, Instant /*now*/) {}
  // The same for all limits of a key that has no common name yet (Engine::await_hasher).
  virtual void admitted_early(const KeyName&, std::span<const Quota> /*limits*/,
                              std::int64_t /*cost*/, Instant /*now*/) {}
  // The same of a key that only this node counts: its own counters are charged, under the name that
  // the key gets.
  virtual void counted_early(const KeyName&, std::span<const Quota> /*limits*/,
                             std::int64_t /*cost*/, Instant /*now*/) {}

 protected:
  ~Fleet() = default;
};

}  // namespace weir
