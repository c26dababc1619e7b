#include "nginx/zone/fleet_board.h"

#include <new>
#include <string_view>

namespace weir::nginx {

// A note that a worker has written in part is void.
class FleetBoard::Lock {
 public:
  explicit Lock(FleetBoard& board) : board_(board) {
    if (board_.mutex_.lock() == ShardMutex::State::kDamaged) board_.noted_ = {};
  }
  ~Lock() { board_.mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  FleetBoard& board_;
};

void FleetBoard::format() {
  ::new (&mutex_) ShardMutex();
  mutex_.share();
  const HashSecret chance = HashSecret::random();
  for (std::size_t i = 0; i < node_.size(); ++i) {
    node_[i] = "0123456789abcdef"[std::to_integer<unsigned>(chance.bytes[i]) % 16];
  }
}

bool FleetBoard::has_seat(const Worker& worker) const {
  return noted_.fleet == worker.fleet && noted_.holder == worker.process;
}

FleetBoard::News FleetBoard::look(const Worker& worker, Wish wish, Instant now) {
  const Lock lock(*this);
  const bool is_renewed = now < instant_from_epoch_us(noted_.renewed_us) + kSeatMax;
  const bool is_taken = noted_.fleet == worker.fleet && noted_.holder != 0 && is_renewed;
  if (wish == Wish::kSeat && !is_taken) {
    if (noted_.fleet != worker.fleet) noted_ = {.fleet = worker.fleet, .nodes = {}};
    noted_.holder = worker.process;
  }
  if (noted_.fleet != worker.fleet) return {};
  if (noted_.holder == worker.process) noted_.renewed_us = epoch_us(now);
  News news{.has_seat = noted_.holder == worker.process,
            .known = {.nodes = noted_.nodes,
                      .blocks_read = {noted_.blocks_read.data(), noted_.blocks_read_size}}};
  if (noted_.has_secret) news.known.secret = noted_.secret;
  return news;
}

void FleetBoard::note(const Worker& worker, const Known& known) {
  const Lock lock(*this);
  if (!has_seat(worker)) return;
  noted_.nodes = known.nodes;
  if (known.secret) noted_.secret = *known.secret;
  noted_.has_secret = noted_.has_secret || known.secret;
  const std::string_view read = known.blocks_read;
  noted_.blocks_read_size = read.copy(noted_.blocks_read.data(), noted_.blocks_read.size());
}

void FleetBoard::leave(const Worker& worker) {
  const Lock lock(*this);
  if (has_seat(worker)) noted_.holder = 0;
}

}  // namespace weir::nginx
