// Says of each file named on its command line whether the loader takes it:
// "accepted PATH" or "refused PATH". config_schema_test.py compares with the schema.

#include <cstdio>
#include <variant>

#include "rules/config.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const bool accepted = std::holds_alternative<weir::Config>(weir::load_config(argv[i]));
    std::printf("%s %s\n", accepted ? "accepted" : "refused", argv[i]);
  }
  return 0;
}
