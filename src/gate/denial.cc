#include "gate/denial.h"

#include "proto/http/problem.h"
#include "rules/text/text_template.h"

namespace weir {
namespace {

std::string problem_text(int status) { return to_json(http_problem(status, "Too many requests.")); }

// Attackers get this text.
std::string_view usual_body() {
  static const std::string kText = problem_text(kTooManyRequests);
  return kText;
}

}  // namespace

DenialText::DenialText(const GateAnswer& said, const Request& request, const DenialStatus& status)
    : status_(status.of(*said.ask->rule)), content_type_(kProblemContentType), body_(usual_body()) {
  const Rule& rule = *said.ask->rule;
  const Denial& denial = rule.denial;
  if (status_ == kTooManyRequests && !denial.body && denial.headers.empty()) return;
  const TemplateValues values{
      .rule = rule.id, .key = said.ask->key, .decision = said.answer->decision, .request = request};
  own_.emplace();
  if (denial.body) {
    denial.body->append(values, escape_for(denial.content_type), own_->body);
    content_type_ = denial.content_type;
    body_ = own_->body;
  } else if (status_ != kTooManyRequests) {
    body_ = own_->body = problem_text(status_);
  }
  own_->texts.resize(denial.headers.size());
  for (std::size_t i = 0; i < own_->texts.size(); ++i) {
    denial.headers[i].value.append(values, Escape::kHeader, own_->texts[i]);
    own_->fields.push_back({.name = denial.headers[i].name, .value = own_->texts[i]});
  }
}

}  // namespace weir
