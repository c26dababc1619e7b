// Says of each file named on its command line whether the loader takes it:
// "accepted PATH" or "refused PATH". Files that it names need not be there.
// config_schema_test.py compares with the schema, which describes what gateways take, too.

#include <cstdio>
#include <string>
#include <variant>

#include "config/config.h"
#include "config/config_file.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto text = weir::read_config_file(argv[i]);
    const bool accepted = std::holds_alternative<std::string>(text) &&
                          std::holds_alternative<weir::Config>(weir::parse_config(
                              std::get<std::string>(text), argv[i], weir::ServedBy::kEither));
    std::printf("%s %s\n", accepted ? "accepted" : "refused", argv[i]);
  }
  return 0;
}
