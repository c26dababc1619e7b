#include "simulate/redis/scripts.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <lua.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "proto/resp/reply_reader.h"
#include "simulate/redis/struct_library.h"

namespace weir::lab {
namespace {

constexpr int kInstructionsCounted = 100'000;  // between two looks at how many there were
constexpr std::size_t kErrorMax = 200;

// In the Lua state's registry, for functions of the library.
struct Call {
  const Scripts::Carrier* carrier = nullptr;
  int instructions_left = 0;
  // Memory that is used again.
  OutputBuffer reply{};
  resp::ReplyReader reader{};
  std::vector<std::string> numbers{};
  std::vector<std::string_view> words{};
};
const char kCallKey = 0;  // its address is the key

Call& call_of(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>(&kCallKey));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  auto* const call = static_cast<Call*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *call;
}

void push_text(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

// {field = text}
void push_table(lua_State* lua, const char* field, std::string_view text) {
  lua_createtable(lua, 0, 1);
  push_text(lua, text);
  lua_setfield(lua, -2, field);
}

void push_reply(lua_State* lua, const resp::Reply& reply) {
  switch (reply.type()) {
    case resp::ReplyType::kNull: lua_pushboolean(lua, 0); return;
    case resp::ReplyType::kStatus: push_table(lua, "ok", reply.text()); return;
    case resp::ReplyType::kError: push_table(lua, "err", reply.text()); return;
    case resp::ReplyType::kInteger:
      lua_pushnumber(lua, static_cast<lua_Number>(*reply.integer()));
      return;
    case resp::ReplyType::kText: push_text(lua, reply.text()); return;
    case resp::ReplyType::kArray:
    case resp::ReplyType::kMap:
    case resp::ReplyType::kPush: break;
  }
  luaL_checkstack(lua, 4, "a reply is too deep");
  lua_createtable(lua, static_cast<int>(reply.size()), 0);
  int index = 0;
  for (const resp::Reply element : reply) {
    push_reply(lua, element);
    lua_rawseti(lua, -2, ++index);
  }
}

// As printf's %.17g, but whole numbers as such.
std::string text_of(lua_Number number) {
  constexpr lua_Number kWholeMost = 1e15;
  std::array<char, 40> text;
  if (std::abs(number) < kWholeMost && number == std::floor(number)) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  const int size = std::snprintf(text.data(), text.size(), "%.17g", number);
  return {text.data(), static_cast<std::size_t>(size)};
}

// The arguments as words; false if one is neither text nor number.
bool read_words(lua_State* lua, Call& call) {
  const int count = lua_gettop(lua);
  call.words.clear();
  call.numbers.resize(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TNUMBER) {
      std::string& text = call.numbers[static_cast<std::size_t>(i - 1)];
      text = text_of(lua_tonumber(lua, i));
      call.words.emplace_back(text);
    } else if (type == LUA_TSTRING) {
      std::size_t size = 0;
      const char* const text = lua_tolstring(lua, i, &size);
      call.words.emplace_back(text, size);
    } else {
      return false;
    }
  }
  return true;
}

// Leaves the reply on the stack; true if it is an error.
bool carry(lua_State* lua) {
  Call& call = call_of(lua);
  if (lua_gettop(lua) == 0) {
    push_table(lua, "err", "ERR Please specify at least one argument for this redis lib call");
    return true;
  }
  if (!read_words(lua, call)) {
    push_table(lua, "err", "ERR Lua redis lib command arguments must be strings or integers");
    return true;
  }
  call.reply.consume(call.reply.size());
  (*call.carrier)(call.words, call.reply);
  const auto status = call.reader.read(call.reply.view());
  WEIR_ASSERT(status == resp::ReplyReader::Status::kReply);
  const resp::Reply& reply = call.reader.reply();
  push_reply(lua, reply);
  return reply.is_error();
}

int redis_call(lua_State* lua) {
  if (carry(lua)) return lua_error(lua);
  return 1;
}

int redis_pcall(lua_State* lua) {
  carry(lua);
  return 1;
}

int redis_sha1hex(lua_State* lua) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, 1, &size);
  push_text(lua, sha1_hex({text, size}));
  return 1;
}

// Lua's pcall, but an error of a table with a text becomes that text.
int pcall_with_texts(lua_State* lua) {
  luaL_checkany(lua, 1);
  const bool is_fine = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == 0;
  if (!is_fine && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) != 0) {
      lua_replace(lua, -2);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushboolean(lua, is_fine ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

int refuse_unknown_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    lua_tostring(lua, 2));
}

int refuse_new_global(lua_State* lua) {
  return luaL_error(lua, "Attempt to modify a readonly table");
}

// An error's text and place, as in Redis's own handler, which is Lua.
int explain(lua_State* lua) {
  if (!lua_istable(lua, 1)) {
    const char* const text = lua_tostring(lua, 1);
    push_table(lua, "err", "ERR " + std::string(text == nullptr ? "nil" : text));
    lua_replace(lua, 1);
  }
  lua_settop(lua, 1);
  lua_Debug where;
  int level = 1;
  bool is_known = lua_getstack(lua, level, &where) == 1 && lua_getinfo(lua, "Sl", &where) != 0;
  if (is_known && std::string_view(where.what) == "C") {
    is_known = lua_getstack(lua, ++level, &where) == 1 && lua_getinfo(lua, "Sl", &where) != 0;
  }
  if (!is_known) return 1;
  lua_pushstring(lua, where.source);
  lua_setfield(lua, 1, "source");
  lua_pushinteger(lua, where.currentline);
  lua_setfield(lua, 1, "line");
  return 1;
}

void count_instructions(lua_State* lua, lua_Debug*) {
  Call& call = call_of(lua);
  call.instructions_left -= kInstructionsCounted;
  if (call.instructions_left < 0) {
    luaL_error(lua, "Script killed by user with SCRIPT KILL.");
  }
}

// The text in a field of the table at the top; empty if it is no text.
std::string_view field_of(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  std::size_t size = 0;
  const char* const text =
      lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &size) : nullptr;
  lua_pop(lua, 1);  // the table still holds it
  return text == nullptr ? std::string_view() : std::string_view(text, size);
}

// Writes the value at the top, and removes it.
void write_value(lua_State* lua, RedisReply& reply);

void write_table(lua_State* lua, RedisReply& reply) {
  if (const auto error = field_of(lua, "err"); error.data() != nullptr) return reply.error(error);
  if (const auto status = field_of(lua, "ok"); status.data() != nullptr) {
    std::string line(status);
    std::ranges::replace_if(
        line, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    return reply.status(line);
  }
  int size = 0;
  for (bool is_there = true; is_there; size += is_there ? 1 : 0) {
    lua_rawgeti(lua, -1, size + 1);
    is_there = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
  }
  reply.array(static_cast<std::size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(lua, -1, i);
    write_value(lua, reply);
  }
}

void write_value(lua_State* lua, RedisReply& reply) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* const text = lua_tolstring(lua, -1, &size);
      reply.bulk({text, size});
      break;
    }
    case LUA_TNUMBER: reply.integer(static_cast<std::int64_t>(lua_tonumber(lua, -1))); break;
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) != 0) {
        reply.integer(1);
      } else {
        reply.null();
      }
      break;
    case LUA_TTABLE:
      if (lua_checkstack(lua, 4) == 0) {
        reply.error("ERR reached lua stack limit");
      } else {
        write_table(lua, reply);
      }
      break;
    default: reply.null();
  }
  lua_pop(lua, 1);
}

// Globals are read from the library's; scripts cannot make new ones.
void push_environment(lua_State* lua) {
  lua_newtable(lua);
  lua_createtable(lua, 0, 2);
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_new_global);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
}

void open_redis_library(lua_State* lua) {
  constexpr luaL_Reg kFunctions[] = {
      {"call", redis_call}, {"pcall", redis_pcall}, {"sha1hex", redis_sha1hex}, {nullptr, nullptr}};
  luaL_register(lua, "redis", kFunctions);
  lua_pop(lua, 1);
}

void open_lua_libraries(lua_State* lua) {
  constexpr luaL_Reg kLibraries[] = {{"", luaopen_base},
                                     {"table", luaopen_table},
                                     {"string", luaopen_string},
                                     {"math", luaopen_math}};
  for (const auto& [name, open] : kLibraries) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
  }
  for (const char* const name : {"dofile", "loadfile", "print", "collectgarbage"}) {
    lua_pushnil(lua);
    lua_setglobal(lua, name);
  }
  lua_pushcfunction(lua, pcall_with_texts);
  lua_setglobal(lua, "pcall");
  lua_getglobal(lua, "math");
  for (const char* const name : {"random", "randomseed"}) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
  }
  lua_pop(lua, 1);
}

// A thread's Lua, and the scripts that are compiled in it.
class Interpreter {
 public:
  Interpreter() : lua_(luaL_newstate()) {
    WEIR_ASSERT(lua_ != nullptr);
    lua_gc(lua_, LUA_GCSETPAUSE, 1000);  // little is kept, so collecting garbage often is wasteful
    lua_pushlightuserdata(lua_, const_cast<char*>(&kCallKey));
    lua_pushlightuserdata(lua_, &call);
    lua_rawset(lua_, LUA_REGISTRYINDEX);
    open_lua_libraries(lua_);
    open_struct_library(lua_);
    open_redis_library(lua_);
    lua_createtable(lua_, 0, 1);
    lua_pushcfunction(lua_, refuse_unknown_global);
    lua_setfield(lua_, -2, "__index");
    lua_setmetatable(lua_, LUA_GLOBALSINDEX);
  }
  ~Interpreter() { lua_close(lua_); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  lua_State* lua() { return lua_; }
  Call call;
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> references;  // by hash
  // The latest texts, each with its hash: a text comes again and again.
  std::array<std::pair<std::string, std::string>, 4> texts;
  std::size_t newest = 0;

 private:
  lua_State* const lua_;
};

Interpreter& interpreter() {
  thread_local Interpreter one;
  return one;
}

void set_list(lua_State* lua, const char* name, Words words) {
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  int index = 0;
  for (const std::string_view word : words) {
    push_text(lua, word);
    lua_rawseti(lua, -2, ++index);
  }
  lua_setglobal(lua, name);
}

void answer_failure(lua_State* lua, std::string_view sha, RedisReply& reply) {
  const std::string name(sha);
  if (!lua_istable(lua, -1)) {
    const char* const text = lua_tostring(lua, -1);
    const std::string_view why = text == nullptr ? "execution failure" : text;
    return reply.error("ERR Error running script " + name + ", " +
                       std::string(why.substr(0, kErrorMax)));
  }
  std::string line(field_of(lua, "err"));
  const std::string source(field_of(lua, "source"));
  lua_getfield(lua, -1, "line");
  if (!source.empty() && lua_isnumber(lua, -1) != 0) {
    line +=
        " script: " + name + ", on " + source + ":" + std::to_string(lua_tointeger(lua, -1)) + ".";
  }
  lua_pop(lua, 1);
  reply.error(line);
}

std::string known_hash(std::string_view text) {
  auto& texts = interpreter().texts;
  const auto* const found = std::ranges::find_if(
      texts, [&](const auto& t) { return !t.second.empty() && t.first == text; });
  if (found != texts.end()) return found->second;
  auto& [kept, hash] = texts[++interpreter().newest % texts.size()];
  kept = text;
  return hash = sha1_hex(text);
}

}  // namespace

std::string Scripts::load(std::string_view text, RedisReply& reply) {
  std::string sha = known_hash(text);
  if (has(sha)) return sha;
  lua_State* const lua = interpreter().lua();
  auto& references = interpreter().references;
  if (!references.contains(sha)) {
    if (luaL_loadbuffer(lua, text.data(), text.size(), "@user_script") != 0) {
      reply.error("ERR Error compiling script (new function): " +
                  std::string(lua_tostring(lua, -1)));
      lua_pop(lua, 1);
      return {};
    }
    push_environment(lua);
    lua_setfenv(lua, -2);
    references.emplace(sha, luaL_ref(lua, LUA_REGISTRYINDEX));
  }
  known_.insert(sha);
  return sha;
}

void Scripts::run(std::string_view sha, Words keys, Words arguments, RedisReply& reply) {
  lua_State* const lua = interpreter().lua();
  set_list(lua, "KEYS", keys);
  set_list(lua, "ARGV", arguments);
  Call& call = interpreter().call;
  call.carrier = &carrier_;
  call.instructions_left = instructions_max_;
  lua_sethook(lua, count_instructions, LUA_MASKCOUNT, kInstructionsCounted);
  lua_pushcfunction(lua, explain);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, interpreter().references.find(sha)->second);
  if (lua_pcall(lua, 0, 1, -2) == 0) {
    write_value(lua, reply);
  } else {
    answer_failure(lua, sha, reply);
  }
  lua_settop(lua, 0);
}

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace weir::lab
