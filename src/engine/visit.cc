#include "engine/visit.h"

#include <utility>

#include "base/assert.h"

namespace weir {

// One batch and where it was asked. It outlives a visit that does not wait for it.
class Visit::Question final : public Check {
 public:
  void begin(Operation operation, Visit& visit) {
    visit_ = &visit;
    Check::begin(operation, [](Check& check) noexcept {
      auto& question = static_cast<Question&>(check);
      question.is_open_ = false;
      if (question.visit_ == nullptr) {
        delete &question;
      } else {
        question.visit_->answer_came();
      }
    });
  }

  void ask(Store& store, Instant now) {
    is_open_ = true;
    store_ = &store;
    decide(store, now);
  }

  bool is_open() const { return is_open_; }
  void abandon() { visit_ = nullptr; }
  bool is_same(const Question& other, const Store& store) const {
    return store_ == &store && asks_same(other);
  }

 private:
  Visit* visit_ = nullptr;  // null: nobody waits for the answer
  const Store* store_ = nullptr;
  bool is_open_ = false;
};

Visit::Visit() = default;

Visit::~Visit() { forget(); }

Check& Visit::next(Operation operation) {
  if (spare_.empty()) spare_.push_back(std::make_unique<Question>());
  spare_.back()->begin(operation, *this);
  return *spare_.back();
}

Visit::Progress Visit::ask(Store& store, const Check*& answered, Instant now) {
  if (next_ < questions_.size() && !questions_[next_]->is_same(*spare_.back(), store)) {
    // Asked differently: what was asked from here on is of no more use.
    while (questions_.size() > next_) {
      spare_.insert(spare_.begin(), std::move(questions_.back()));
      questions_.pop_back();
    }
  }
  if (next_ == questions_.size()) {
    questions_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    ++open_;
    questions_.back()->ask(store, now);
  }
  const Question& question = *questions_[next_++];
  answered = &question;
  if (question.is_open()) return Progress::kWaits;
  return question.error() == StoreError::kNone ? Progress::kAnswered : Progress::kUnavailable;
}

bool Visit::concludes_first() {
  if (concluding_++ < concluded_) return false;
  ++concluded_;
  return true;
}

// REQUIRES: !waits(), for what is open could not be asked anew
void Visit::rewind() {
  WEIR_ASSERT(!waits());
  next_ = 0;
  concluding_ = 0;
  waker_ = nullptr;
}

void Visit::forget() {
  for (auto& question : questions_) {
    if (question->is_open()) {
      question.release()->abandon();
    } else {
      spare_.push_back(std::move(question));
    }
  }
  questions_.clear();
  open_ = next_ = concluding_ = concluded_ = 0;
  waker_ = nullptr;
}

void Visit::answer_came() {
  if (--open_ == 0 && waker_ != nullptr) waker_->wake();
}

}  // namespace weir
