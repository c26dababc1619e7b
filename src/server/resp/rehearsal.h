// Rehearsal: carries out a check up to the point where it would be decided.
//
// Between MULTI and EXEC it finds mistakes in a check while nothing is charged yet. If all or
// nothing is to be charged, it also collects the checks.
//
// Thread rule: one core. Tested by resp_multi_test.cc.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/resp/resp_core.h"

namespace weir {

class Rehearsal final : public RespLine {
 public:
  // The checks that are to be decided together, and how they are answered.
  struct Together {
    AsksPtr asks;
    std::vector<ReplyForm> forms{};
  };

  explicit Rehearsal(Together* together = nullptr) : together_(together) {}

  // A check of one key. Other commands end without calling this.
  void take(const Ask& ask, ReplyForm form) {
    is_single_ = true;
    if (together_ == nullptr) return;
    fits_ = together_->asks->add(ask);
    together_->forms.push_back(form);
  }
  bool is_single() const { return is_single_; }

  // The mistake in the check; empty if there is none.
  std::string error() const {
    if (!fits_) return "ERR these rules have more than 16 limits in all";
    const std::string_view reply = out_.view();
    if (!reply.starts_with('-')) return {};
    return std::string(reply.substr(1, reply.find('\r') - 1));
  }

  OutputBuffer& end() override { return out_; }
  bool waits() const override { return false; }
  void park(std::unique_ptr<LateReply<OutputBuffer>>, Instant) override {}

 private:
  OutputBuffer out_;
  Together* const together_;
  bool is_single_ = false;
  bool fits_ = true;
};

}  // namespace weir
