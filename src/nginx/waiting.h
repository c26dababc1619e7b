// Waiting: it goes on when the thing it waits for has come. This happens when the worker comes to
// it, not at once, as requests may end while they go on.
//
// Thread rule: a worker's only thread. Tested by judge_test.cc and tests/nginx.

#pragma once

#include <boost/intrusive/list.hpp>

namespace weir::nginx {

class Waiting : public boost::intrusive::list_base_hook<
                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // Once for each time it was woken. May destroy this and others.
  virtual void resume() = 0;

 protected:
  ~Waiting() = default;
};

// Woken objects, in the order of waking.
class DueList {
 public:
  void wake(Waiting& waiting) {
    if (!waiting.is_linked()) due_.push_back(waiting);
  }
  void go_on() {
    while (!due_.empty()) {
      Waiting& first = due_.front();
      due_.pop_front();
      first.resume();
    }
  }

 private:
  boost::intrusive::list<Waiting, boost::intrusive::constant_time_size<false>> due_;
};

}  // namespace weir::nginx
