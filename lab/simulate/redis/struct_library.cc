#include "simulate/redis/struct_library.h"

#include <cstdint>
#include <cstring>
#include <lua.hpp>
#include <optional>
#include <string_view>

namespace weir::lab {
namespace {

struct Field {
  bool is_signed;
  unsigned size;  // bytes
};

constexpr unsigned kSizeMax = 8;

// Takes the next field off `format`; nullopt at its end.
std::optional<Field> next_field(lua_State* lua, const char*& format) {
  while (*format == '<' || *format == ' ') ++format;
  if (*format == '\0') return {};
  const char type = *format++;
  if (type != 'i' && type != 'I') {
    luaL_error(lua, "struct of a model has no '%c'", type);
  }
  unsigned size = 0;
  while (*format >= '0' && *format <= '9')
    size = 10 * size + static_cast<unsigned>(*format++ - '0');
  if (size == 0) size = sizeof(int);
  if (size > kSizeMax)
    luaL_error(lua, "integral size %d is larger than limit of %d", size, kSizeMax);
  return Field{.is_signed = type == 'i', .size = size};
}

// As C converts numbers that fit: a negative number as a signed one.
std::uint64_t bits_of(lua_Number number) {
  return number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                    : static_cast<std::uint64_t>(number);
}

lua_Number number_of(std::uint64_t bits, const Field& field) {
  if (!field.is_signed) return static_cast<lua_Number>(bits);
  const unsigned unused = 64 - 8 * field.size;
  return static_cast<lua_Number>(static_cast<std::int64_t>(bits << unused) >> unused);
}

int pack(lua_State* lua) {
  const char* format = luaL_checkstring(lua, 1);
  luaL_Buffer bytes;
  luaL_buffinit(lua, &bytes);
  int argument = 2;
  while (const auto field = next_field(lua, format)) {
    const std::uint64_t bits = bits_of(luaL_checknumber(lua, argument++));
    luaL_addlstring(&bytes, reinterpret_cast<const char*>(&bits), field->size);
  }
  luaL_pushresult(&bytes);
  return 1;
}

int unpack(lua_State* lua) {
  const char* format = luaL_checkstring(lua, 1);
  std::size_t size = 0;
  const char* const bytes = luaL_checklstring(lua, 2, &size);
  const auto from = luaL_optinteger(lua, 3, 1);
  luaL_argcheck(lua, from > 0, 3, "offset must be 1 or greater");
  auto at = static_cast<std::size_t>(from) - 1;
  int results = 0;
  while (const auto field = next_field(lua, format)) {
    luaL_argcheck(lua, field->size <= size && at <= size - field->size, 2, "data string too short");
    luaL_checkstack(lua, 2, "too many results");
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes + at, field->size);
    lua_pushnumber(lua, number_of(bits, *field));
    at += field->size;
    ++results;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(at + 1));
  return results + 1;
}

}  // namespace

void open_struct_library(lua_State* lua) {
  constexpr luaL_Reg kFunctions[] = {{"pack", pack}, {"unpack", unpack}, {nullptr, nullptr}};
  luaL_register(lua, "struct", kFunctions);
  lua_pop(lua, 1);
}

}  // namespace weir::lab
