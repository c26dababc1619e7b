// DenialText: what a denied client gets, as its rule and the host want it.
//
// Thread rule: values. Tested by tests/scenarios/http_auth.yaml and tests/nginx.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "gate/gate.h"
#include "rules/request/request.h"

namespace weir {

inline constexpr int kTooManyRequests = 429;

// Whose status a denied client gets.
enum class DenialStatus : std::uint8_t {
  kOfHost,  // always the host's: its proxy understands no other
  kOfRule,  // the rule's, or the host's if the rule names none
};

class DenialText {
 public:
  // `status`: the host's. All must outlive this.
  // REQUIRES: `said` does not allow the request
  DenialText(const GateAnswer& said, const Request& request, int status, DenialStatus whose);
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
