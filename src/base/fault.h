// Fault: why something cannot be done, in a sentence for a person. Most functions that read texts
// written by people return it: Result<Address, Fault> (weir/result.h).
//
// Thread rule: a value. Tested by src/net/sockets/address_test.cc.

#pragma once

#include <string>

#include "weir/result.h"

namespace weir {

struct Fault {
  std::string message;  // what is wrong and what would be right; never a secret
};

}  // namespace weir
