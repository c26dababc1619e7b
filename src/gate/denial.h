// DenialText: what a denied client gets, as its rule and the host want it.
//
// Thread rule: values. Tested by tests/scenarios/http_auth.yaml and tests/nginx.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "gate/gate.h"
#include "rules/request/request.h"

namespace weir {

class DenialText {
 public:
  // The answer and the request must outlive this.
  // REQUIRES: `said` does not allow the request
  DenialText(const GateAnswer& said, const Request& request, const DenialStatus& status);
  DenialText(const DenialText&) = delete;
  DenialText& operator=(const DenialText&) = delete;

  // Most denials: no further fields, and a type and a body that last as long as the program.
  bool is_usual() const { return !own_; }

  int status() const { return status_; }
  std::string_view content_type() const { return content_type_; }
  std::string_view body() const { return body_; }
  std::span<const NameValue> fields() const {
    return own_ ? std::span<const NameValue>(own_->fields) : std::span<const NameValue>();
  }

 private:
  // With the values of the request filled in.
  struct Own {
    std::string body;
    std::vector<std::string> texts;  // of `fields`
    std::vector<NameValue> fields;
  };

  int status_;
  std::string_view content_type_;
  std::string_view body_;
  std::optional<Own> own_;
};

}  // namespace weir
