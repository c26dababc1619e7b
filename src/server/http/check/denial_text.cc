#include "server/http/check/denial_text.h"

#include "server/http/problem.h"

namespace weir {
namespace {

constexpr int kTooManyRequests = 429;
constexpr const char* kTooManyText = "Too many requests.";

}  // namespace

// Attackers get this text.
std::string_view usual_denial() {
  static const std::string kTooMany = to_json(http_problem(kTooManyRequests, kTooManyText));
  return kTooMany;
}

bool says_the_usual(const Denial& denial, int status) {
  return status == kTooManyRequests && !denial.body && denial.headers.empty();
}

DenialText::DenialText(const Denial& denial, const TemplateValues& values, int status)
    : content_type_(kProblemContentType) {
  if (denial.body) {
    denial.body->append(values, escape_for(denial.content_type), own_body_);
    content_type_ = denial.content_type;
    body_ = own_body_;
  } else if (status == kTooManyRequests) {
    body_ = usual_denial();
  } else {
    own_body_ = to_json(http_problem(status, kTooManyText));
    body_ = own_body_;
  }
  texts_.resize(denial.headers.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    denial.headers[i].value.append(values, Escape::kHeader, texts_[i]);
    fields_.push_back({.name = denial.headers[i].name, .value = texts_[i]});
  }
}

}  // namespace weir
