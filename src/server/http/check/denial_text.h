// A rule's text for callers that it denies.
//
// Thread rule: values. Tested by tests/scenarios/http_auth.yaml.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "rules/rule.h"
#include "rules/text/text_template.h"

namespace weir {

// The text of most denials, with kProblemContentType: a body made once, and no further fields.
std::string_view usual_denial();
bool says_the_usual(const Denial& denial, int status);

// The body and the further fields of one denial, with its values filled in.
class DenialText {
 public:
  // `status`: of the reply. All must outlive this.
  DenialText(const Denial& denial, const TemplateValues& values, int status);
  DenialText(const DenialText&) = delete;
  DenialText& operator=(const DenialText&) = delete;

  std::string_view content_type() const { return content_type_; }
  std::string_view body() const { return body_; }
  std::span<const NameValue> fields() const { return fields_; }

 private:
  std::string_view content_type_;
  std::string own_body_;
  std::string_view body_;
  std::vector<std::string> texts_;
  std::vector<NameValue> fields_;
};

}  // namespace weir
