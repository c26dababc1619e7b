// For each file on its command line, says whether the loader takes it: "accepted PATH" or
// "refused PATH". Files named in it need not exist. config_schema_test.py compares this with the
// schema, which describes fields of gateways, too.

#include <cstdio>
#include <string>

#include "config/config.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto text = weir::read_config_file(argv[i]);
    const bool accepted =
        text.has_value() && weir::parse_config(*text, argv[i], weir::ServedBy::kEither).has_value();
    std::printf("%s %s\n", accepted ? "accepted" : "refused", argv[i]);
  }
  return 0;
}
