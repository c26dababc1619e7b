#include "simulate/redis/redis_model.h"

#include <algorithm>
#include <utility>

namespace weir::lab {
namespace {

bool has_words_of(const Command& command, std::size_t count) {
  const auto words = static_cast<int>(count);
  return command.arity > 0 ? words == command.arity : words >= -command.arity;
}

}  // namespace

RedisModel::RedisModel(RedisModelOptions options)
    : options_(options),
      scripts_([this](Words words, OutputBuffer& out) { carry_for_script(words, out); },
               options.script_instructions_max) {}

void RedisModel::execute(RedisPeer& peer, Words words, Instant now, OutputBuffer& out) {
  if (words.empty()) return;
  if (peer.id == 0) peer.id = ++peers_;
  RedisReply reply(out, peer.protocol);
  const Command* const command = find_command(words[0]);
  if (command == nullptr) return reply.error("ERR unknown command");
  if (!has_words_of(*command, words.size())) return reply.error(wrong_number(words[0]));
  has_called_writer_ = false;
  if (const auto why = refusal(*command); !why.empty()) return reply.error(why);
  now_ = now;
  if (command->handler != nullptr) {
    carry(*command, words, reply);
  } else {
    serve(command->name, peer, words, out);
  }
  end_write();
}

// A script that has begun to write goes on when memory gets short.
std::string_view RedisModel::refusal(const Command& command) const {
  const bool takes_memory = (command.flags & Command::kTakesMemory) != 0;
  if (condition_ == Condition::kOutOfMemory && takes_memory && !has_called_writer_) {
    return "OOM command not allowed when used memory > 'maxmemory'.";
  }
  if (condition_ == Condition::kReadOnly && (command.flags & Command::kWrites) != 0) {
    return "READONLY You can't write against a read only replica.";
  }
  return {};
}

void RedisModel::carry(const Command& command, Words words, RedisReply& reply) {
  CommandCall call{.words = words,
                   .keys = keyspace_,
                   .now = now_,
                   .reply = reply,
                   .hash_entries_max = options_.hash_listpack_entries_max,
                   .hash_value_max = options_.hash_listpack_value_max,
                   .is_told = keeps_writes_,
                   .run = run_};
  command.handler(call);
  for (std::string& key : keyspace_.take_gone()) note({"DEL", std::move(key)});
  if (call.has_written) note(std::move(call.effect));
}

void RedisModel::note(std::vector<std::string> effect) {
  has_written_ = true;
  if (keeps_writes_) write_.push_back(std::move(effect));
}

// Replicas get all writes of one command, or none.
void RedisModel::end_write() {
  if (!std::exchange(has_written_, false)) return;
  ++position_;
  followed_ = nullptr;
  if (keeps_writes_) writes_.push_back(std::exchange(write_, {}));
}

void RedisModel::begin_anew() {
  self_ = std::make_shared<int>(0);
  followed_ = nullptr;
  writes_.clear();
  ++position_;
}

void RedisModel::forget_all() {
  scripts_.forget();
  keyspace_.clear();
  begin_anew();
}

void RedisModel::evict(std::size_t count, Prng& chance) {
  for (; count > 0 && keys() > 0; --count) {
    const std::string key = keyspace_.any(chance);
    keyspace_.erase(key);
    note({"DEL", key});
  }
  end_write();
}

void RedisModel::forget_writes_before(std::uint64_t position) {
  while (!writes_.empty() && position_ - writes_.size() < position) writes_.pop_front();
}

void RedisModel::copy_from(const RedisModel& master, std::uint64_t position) {
  position = std::min(position, master.position_);
  const std::uint64_t first_kept = master.position_ - master.writes_.size();
  const bool is_behind =
      followed_ == master.self_ && position_ >= first_kept && position_ <= position;
  if (is_behind) {
    for (; position_ < position; ++position_) apply(master.writes_[position_ - first_kept]);
    return;
  }
  keyspace_ = master.keyspace_;
  begin_anew();
  position_ = master.position_;
  followed_ = master.self_;
}

// Nothing expires at the epoch, and the words mean the same at any time.
void RedisModel::apply(const Write& write) {
  OutputBuffer replies;
  RedisReply reply(replies, resp::Protocol::kResp2);
  now_ = Instant{};
  for (const auto& effect : write) {
    const std::vector<std::string_view> words(effect.begin(), effect.end());
    carry(*find_command(words[0]), words, reply);
  }
  has_written_ = false;
  // Its own replicas get them.
  if (keeps_writes_) writes_.push_back(std::exchange(write_, {}));
}

void RedisModel::carry_for_script(Words words, OutputBuffer& out) {
  RedisReply reply(out, resp::Protocol::kResp2);
  const Command* const command = find_command(words[0]);
  if (command == nullptr) return reply.error("ERR Unknown Redis command called from script");
  if (!has_words_of(*command, words.size())) {
    return reply.error("ERR Wrong number of args calling Redis command from script");
  }
  if (command->handler == nullptr) {
    return reply.error("ERR This Redis command is not allowed from script");
  }
  if (const auto why = refusal(*command); !why.empty()) return reply.error(why);
  has_called_writer_ = has_called_writer_ || (command->flags & Command::kWrites) != 0;
  carry(*command, words, reply);
}

void RedisModel::serve(std::string_view name, RedisPeer& peer, Words words, OutputBuffer& out) {
  RedisReply reply(out, peer.protocol);
  if (name.starts_with("EVAL")) return evaluate(name, words, reply);
  if (name == "SELECT") return reply.status("OK");
  // HELLO 3 SETNAME name
  if (words[1] != "3" || words[2] != "SETNAME") return reply.error("ERR Syntax error in HELLO");
  peer.protocol = resp::Protocol::kResp3;
  introduce(peer, out);
}

void RedisModel::introduce(const RedisPeer& peer, OutputBuffer& out) const {
  RedisReply reply(out, peer.protocol);
  reply.map(7);
  const auto bulks = [&reply](std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) reply.bulk(text);
  };
  bulks({"server", "redis", "version", "7.0.15", "proto"});
  reply.integer(3);
  bulks({"id"});
  reply.integer(peer.id);
  bulks({"mode", "standalone", "role"});
  bulks({condition_ == Condition::kReadOnly ? "replica" : "master", "modules"});
  reply.array(0);
}

// EVAL text, or EVALSHA hash; then the number of keys, the keys, and the arguments.
void RedisModel::evaluate(std::string_view name, Words words, RedisReply& reply) {
  const Words rest = words.subspan(3);
  const auto count = parse_integer(words[2]);
  if (!count || *count < 0 || *count > static_cast<std::int64_t>(rest.size())) {
    return reply.error("ERR wrong number of keys");
  }
  std::string sha(words[1]);
  if (name == "EVAL") {
    sha = scripts_.load(words[1], reply);
    if (sha.empty()) return;
  } else if (!scripts_.has(sha)) {
    return reply.error("NOSCRIPT No matching script. Please use EVAL.");
  }
  const auto keys = static_cast<std::size_t>(*count);
  scripts_.run(sha, rest.first(keys), rest.subspan(keys), reply);
}

}  // namespace weir::lab
