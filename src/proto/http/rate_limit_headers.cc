#include "proto/http/rate_limit_headers.h"

#include "proto/http/rate_limit_fields.h"

namespace weir {
namespace {

// Writes lines "Name: value".
class Lines {
 public:
  explicit Lines(TextWriter& writer) : writer_(writer) {}

  template <std::size_t N>
  TextWriter& begin(const char (&name)[N], const char (&)[N]) {
    return writer_.put(name).put(": ");
  }
  void end() { writer_.put("\r\n"); }

 private:
  TextWriter& writer_;
};

}  // namespace

void write_rate_limit_headers(TextWriter& writer, const RateLimit& limit) {
  Lines lines(writer);
  rate_limit_fields::put_fields(lines, limit);
}

}  // namespace weir
