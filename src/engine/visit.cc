#include "engine/visit.h"

#include <algorithm>
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
      if (question.visit_ != nullptr) {
        question.visit_->answer_came();
      } else {
        question.leave();
      }
    });
  }

  void ask(Store& store, Instant now, Share share, Instant give_up_at) {
    is_open_ = true;
    is_read_ = true;
    share_ = share;
    store_ = &store;
    decide(store, now, give_up_at);
  }

  bool is_open() const { return is_open_; }
  bool is_read() const { return is_read_; }
  void set_read(bool read) { is_read_ = read; }
  void keep() { share_ = Share::kWhole; }
  bool is_same(const Question& other, const Store& store) const {
    return store_ == &store && asks_same(other);
  }
  // Has charged a part of something that nobody wants any more.
  bool is_left_over() const {
    return share_ == Share::kPart && error() == StoreError::kNone &&
           std::ranges::all_of(decisions(), &Decision::allowed);
  }

  // Nobody waits for the answer.
  void abandon(std::shared_ptr<Abandoned> abandoned) {
    visit_ = nullptr;
    abandoned_ = std::move(abandoned);
  }
  void give_back(Instant now) {
    visit_ = nullptr;
    turn_round();
    ask(*store_, now, Share::kWhole, Instant::max());
  }

 private:
  // The owner of itself.
  void leave() noexcept {
    std::unique_ptr<Question> self(this);
    if (is_left_over()) abandoned_->add(std::move(self));
  }

  Visit* visit_ = nullptr;
  std::shared_ptr<Abandoned> abandoned_;
  Store* store_ = nullptr;
  Share share_ = Share::kWhole;
  bool is_open_ = false;
  bool is_read_ = false;  // since rewind()
};

Visit::Visit(std::shared_ptr<Abandoned> abandoned) : abandoned_(std::move(abandoned)) {}

Visit::~Visit() { forget(); }

Check& Visit::next(Operation operation) {
  if (spare_.empty()) spare_.push_back(std::make_unique<Question>());
  spare_.back()->begin(operation, *this);
  return *spare_.back();
}

// What is being filled, if the answer to it has not been read since rewind(). Not only the
// next one: who hears of a failure asks more than the first time.
Visit::Question* Visit::asked_before(const Store& store) {
  while (first_unread_ < questions_.size() && questions_[first_unread_]->is_read()) {
    ++first_unread_;
  }
  for (std::size_t index = first_unread_; index < questions_.size(); ++index) {
    Question& question = *questions_[index];
    if (!question.is_read() && question.is_same(*spare_.back(), store)) return &question;
  }
  return nullptr;
}

Visit::Progress Visit::ask(Store& store, const Check*& answered, Instant now, Share share,
                           Instant give_up_at) {
  Question* question = asked_before(store);
  if (question != nullptr) {
    question->set_read(true);
  } else {
    question = questions_.emplace_back(std::move(spare_.back())).get();
    spare_.pop_back();
    if (!begun_) begun_ = now;
    ++open_;
    question->ask(store, now, share, give_up_at);
  }
  answered = question;
  if (question->is_open()) return Progress::kWaits;
  return question->error() == StoreError::kNone ? Progress::kAnswered : Progress::kUnavailable;
}

void Visit::keep_parts() {
  for (const auto& question : questions_) question->keep();
}

bool Visit::concludes_first() {
  if (concluding_++ < concluded_) return false;
  ++concluded_;
  keep_parts();
  return true;
}

// REQUIRES: !waits(), for what is open could not be asked anew
void Visit::rewind() {
  WEIR_ASSERT(!waits());
  for (const auto& question : questions_) question->set_read(false);
  first_unread_ = 0;
  concluding_ = 0;
  waker_ = nullptr;
}

void Visit::forget() {
  for (auto& question : questions_) {
    if (question->is_open()) {
      question.release()->abandon(abandoned_);
    } else if (question->is_left_over()) {
      abandoned_->add(std::move(question));
    } else {
      spare_.push_back(std::move(question));
    }
  }
  questions_.clear();
  begun_.reset();
  open_ = first_unread_ = concluding_ = concluded_ = 0;
  waker_ = nullptr;
}

void Visit::answer_came() {
  if (--open_ == 0 && waker_ != nullptr) waker_->wake();
}

Abandoned::Abandoned(std::function<void()> on_first) : on_first_(std::move(on_first)) {}

Abandoned::~Abandoned() = default;

void Abandoned::add(std::unique_ptr<Visit::Question> part) {
  parts_.push_back(std::move(part));
  if (parts_.size() == 1 && on_first_) on_first_();
}

// What is answered deletes itself.
void Abandoned::give_back(Instant now) {
  for (auto& part : std::exchange(parts_, {})) part.release()->give_back(now);
}

}  // namespace weir
