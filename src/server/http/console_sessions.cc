#include "server/http/console_sessions.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir {
namespace {

SessionHash hash_of(std::string_view name) {
  SessionHash hash;
  ::SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), hash.data());
  return hash;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace

std::string ConsoleSessions::open(Instant now) {
  std::string name = hexadecimal(chance_());
  const std::scoped_lock lock(mutex_);
  forget_old(now);
  if (sessions_.size() == kSessionsMax) {
    sessions_.erase(std::ranges::min_element(sessions_, {}, &Session::used));
  }
  sessions_.push_back({.hash = hash_of(name), .opened = now, .used = now});
  return name;
}

std::optional<SessionHash> ConsoleSessions::use(std::string_view name, Instant now) {
  const SessionHash hash = hash_of(name);
  return use(hash, now) ? std::optional(hash) : std::nullopt;
}

bool ConsoleSessions::use(const SessionHash& hash, Instant now) {
  const std::scoped_lock lock(mutex_);
  forget_old(now);
  const auto found = std::ranges::find(sessions_, hash, &Session::hash);
  if (found == sessions_.end()) return false;
  found->used = std::max(found->used, now);
  return true;
}

void ConsoleSessions::close(std::string_view name) {
  const SessionHash hash = hash_of(name);
  const std::scoped_lock lock(mutex_);
  std::erase_if(sessions_, [&](const Session& session) { return session.hash == hash; });
}

std::size_t ConsoleSessions::size() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

// REQUIRES: the lock is held
void ConsoleSessions::forget_old(Instant now) {
  std::erase_if(sessions_, [now](const Session& session) {
    return now - session.used >= kIdleMax || now - session.opened >= kAgeMax;
  });
}

}  // namespace weir
