#include "store/redis/client/redis_failure.h"

#include <array>

namespace weir {
namespace {

struct Text {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<Text, kRedisFailures> kTexts = {{
    {"disconnected", "there is no connection to Redis"},
    {"timed_out", "Redis did not answer in time"},
    {"overloaded", "more is waiting for Redis than it answers in time"},
    {"not_asked", "Redis has failed before and is tried again soon"},
    {"out_of_memory", "Redis is over its maxmemory and takes no writes"},
    {"read_only", "this Redis is a replica and takes no writes"},
    {"no_permission",
     "the user may not run the script: it needs +evalsha +eval +time +mget "
     "+exists +set +del on our keys"},
    {"no_auth", "Redis wants a password, or another one"},
    {"cross_slot", "keys of one call are in several slots: is this Redis a cluster?"},
    {"busy", "Redis is busy with a script"},
    {"not_ready", "Redis is loading, failing over, or a cluster without all its slots"},
    {"foreign_type", "under one of our names is a key of another type: is the prefix shared?"},
    {"unreadable", "under one of our names is a value that is not ours: is the prefix shared?"},
    {"outside_windows",
     "Redis says a time outside of the windows of a calendar: is its clock right, and ours?"},
    {"other", "Redis refuses to run the script, or answers something else"},
}};

struct KnownError {
  std::string_view code;
  RedisFailure failure;
};

constexpr std::array kKnownErrors = {
    KnownError{"OOM", RedisFailure::kOutOfMemory},
    KnownError{"READONLY", RedisFailure::kReadOnly},
    KnownError{"NOPERM", RedisFailure::kNoPermission},
    KnownError{"NOAUTH", RedisFailure::kNoAuth},
    KnownError{"WRONGPASS", RedisFailure::kNoAuth},
    KnownError{"CROSSSLOT", RedisFailure::kCrossSlot},
    KnownError{"BUSY", RedisFailure::kBusy},
    KnownError{"LOADING", RedisFailure::kNotReady},
    KnownError{"MASTERDOWN", RedisFailure::kNotReady},
    KnownError{"CLUSTERDOWN", RedisFailure::kNotReady},
    KnownError{"TRYAGAIN", RedisFailure::kNotReady},
    KnownError{"MISCONF", RedisFailure::kNotReady},
    KnownError{"NOREPLICAS", RedisFailure::kNotReady},
};

// A Redis before 7 wraps the error of a script's command: "ERR Error running script (...):
// @user_script: 9: -OOM command not allowed".
bool wraps(std::string_view text, std::string_view code) {
  for (auto at = text.find(code); at != std::string_view::npos; at = text.find(code, at + 1)) {
    const auto end = at + code.size();
    if (at > 0 && text[at - 1] == '-' && end < text.size() && text[end] == ' ') return true;
  }
  return false;
}

}  // namespace

bool concerns_all(RedisFailure failure) {
  switch (failure) {
    case RedisFailure::kDisconnected:  // the client knows when it is connected again
    case RedisFailure::kOverloaded:
    case RedisFailure::kNotAsked:
    case RedisFailure::kForeignType:
    case RedisFailure::kUnreadable:
    case RedisFailure::kOutsideWindows: return false;
    default: return true;
  }
}

std::string_view failure_name(RedisFailure failure) {
  return kTexts[static_cast<std::size_t>(failure)].name;
}

std::string_view failure_meaning(RedisFailure failure) {
  return kTexts[static_cast<std::size_t>(failure)].meaning;
}

RedisFailure failure_of(ChargeFailure failure) {
  switch (failure) {
    case ChargeFailure::kForeignType: return RedisFailure::kForeignType;
    case ChargeFailure::kUnreadable: return RedisFailure::kUnreadable;
    case ChargeFailure::kOutsideWindows: return RedisFailure::kOutsideWindows;
    default: return RedisFailure::kOther;
  }
}

RedisFailure failure_of_error(const resp::Reply& error) {
  const std::string_view code = error.error_code();
  for (const KnownError& known : kKnownErrors) {
    if (code == known.code || (code == "ERR" && wraps(error.text(), known.code))) {
      return known.failure;
    }
  }
  return RedisFailure::kOther;
}

}  // namespace weir
