// Fleet: the nodes that share a store, as one core of one of them sees it.
//
// Thread rule: one core. Implemented by store/redis.

#pragma once

#include <cstdint>

#include "rules/mode.h"
#include "weir/store.h"

namespace weir {

class Fleet {
 public:
  // What decides in this mode. It answers on this core, at once or later.
  // REQUIRES: not kLocal
  virtual Store& store(Mode mode) = 0;

  // Of rules and calls that name none.
  virtual Mode default_mode() const = 0;

  // Nodes that are alive, this one included; at least 1.
  virtual std::int64_t live_nodes() const = 0;

  // The store of this mode has failed, and this node has admitted the charge by itself: for
  // modes in which that is told when the store is back.
  virtual void admitted_alone(Mode, const Charge&, Instant /*now*/) {}

 protected:
  ~Fleet() = default;
};

}  // namespace weir
