// Keyspace: the keys of a modelled Redis, and the values that they may have.
//
// An expired key is not found; find() removes it.
//
// Thread rule: one thread. Tested by redis_model_test.cc.

#pragma once

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "base/text_hash.h"

namespace weir::lab {

struct HashField {
  std::string name;
  mutable std::string value;
};

// The fields of a hash, in order of arrival.
struct HashValue {
  using Name = boost::multi_index::member<HashField, std::string, &HashField::name>;
  using Fields = boost::multi_index_container<
      HashField, boost::multi_index::indexed_by<
                     boost::multi_index::sequenced<>,
                     boost::multi_index::hashed_unique<Name, TextHash, std::equal_to<>>>>;

  const HashField* find(std::string_view name) const {
    const auto found = fields.get<1>().find(name);
    return found == fields.get<1>().end() ? nullptr : &*found;
  }
  // True if the field is new.
  bool set(std::string_view name, std::string_view value) {
    if (const HashField* const there = find(name)) return there->value = value, false;
    fields.push_back({std::string(name), std::string(value)});
    return true;
  }
  bool erase(std::string_view name) {
    const auto found = fields.get<1>().find(name);
    if (found == fields.get<1>().end()) return false;
    fields.get<1>().erase(found);
    return true;
  }

  Fields fields;
  bool is_table = false;  // it once was too large for a listpack
};

// Members by score, and by name where scores are equal.
struct SortedSetValue {
  std::map<std::string, double, std::less<>> scores;
  std::set<std::pair<double, std::string>> members;
};

struct StreamId {
  std::int64_t ms = 0;
  std::int64_t sequence = 0;
  auto operator<=>(const StreamId&) const = default;
};

struct StreamValue {
  struct Entry {
    StreamId id;
    std::vector<std::string> fields;  // names and values
  };
  std::deque<Entry> entries;  // by id
  StreamId last;
};

using Value = std::variant<std::string, HashValue, SortedSetValue, StreamValue>;

class Keyspace {
 public:
  static constexpr std::int64_t kNever = -1;

  struct Entry {
    Value value;
    std::int64_t expires_ms = kNever;
  };

  // Null: no such key. The time of a Redis may step back; removed keys stay removed.
  Entry* find(std::string_view key, std::int64_t now_ms) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    const std::int64_t expires_ms = found->second.expires_ms;
    if (expires_ms == kNever || expires_ms >= now_ms) return &found->second;
    gone_.push_back(found->first);
    entries_.erase(found);
    return nullptr;
  }
  Entry& put(std::string_view key, Entry entry) {
    return entries_.insert_or_assign(std::string(key), std::move(entry)).first->second;
  }
  // Does nothing if there is no such key.
  void erase(std::string_view key) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) entries_.erase(found);
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }

  // A random key. REQUIRES: there is a key
  std::string any(Prng& chance) const {
    const auto buckets = static_cast<std::uint32_t>(entries_.bucket_count());
    auto bucket = chance.below(buckets);
    while (entries_.bucket_size(bucket) == 0) bucket = (bucket + 1) % buckets;
    return entries_.begin(bucket)->first;
  }

  // Keys that find() has removed since the last call.
  std::vector<std::string> take_gone() { return std::exchange(gone_, {}); }

 private:
  std::unordered_map<std::string, Entry, TextHash, std::equal_to<>> entries_;
  std::vector<std::string> gone_;
};

}  // namespace weir::lab
