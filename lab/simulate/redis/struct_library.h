// Redis's `struct` for scripts, for little-endian formats of integers: "<I1i8".
//
// Thread rule: pure. Tested by redis_model_test.cc.

#pragma once

struct lua_State;

namespace weir::lab {

// Leaves the library as a global.
void open_struct_library(lua_State* lua);

}  // namespace weir::lab
