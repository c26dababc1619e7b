#include "simulate/redis/redis_model.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "simulate/redis/commands.h"
#include "simulate/redis/connection_commands.h"
#include "simulate/redis/scripts.h"

namespace weir::lab {
namespace {

// Repeats as much of the arguments as Redis does, each as a C string.
std::string unknown_command(Words words) {
  constexpr std::size_t kRepeatedMax = 128;
  const auto start_of = [](std::string_view word, std::size_t most) {
    return std::string(word.substr(0, std::min(most, word.find('\0'))));
  };
  std::string args;
  for (const std::string_view word : words.subspan(1)) {
    if (args.size() >= kRepeatedMax) break;
    args += "'" + start_of(word, kRepeatedMax - args.size()) + "' ";
  }
  return "ERR unknown command '" + start_of(words[0], kRepeatedMax) +
         "', with args beginning with: " + args;
}

bool has_words_of(const Command& command, std::size_t count) {
  const auto words = static_cast<int>(count);
  return command.arity > 0 ? words == command.arity : words >= -command.arity;
}

// For EVAL and EVALSHA: the number of keys, or what is wrong with it.
struct KeyCount {
  std::size_t keys = 0;
  std::string_view wrong{};
};

KeyCount key_count(Words words) {
  const auto count = parse_integer(words[2]);
  if (!count) return {.wrong = kNotAnInteger};
  if (*count > static_cast<std::int64_t>(words.size()) - 3) {
    return {.wrong = "ERR Number of keys can't be greater than number of args"};
  }
  if (*count < 0) return {.wrong = "ERR Number of keys can't be negative"};
  return {.keys = static_cast<std::size_t>(*count)};
}

}  // namespace

class RedisModel::Parts {
 public:
  explicit Parts(RedisModelOptions options)
      : options_(std::move(options)),
        scripts_([this](Words words, OutputBuffer& reply) { carry_for_script(words, reply); },
                 options_.script_instructions_max) {}

  void execute(RedisPeer& peer, Words words, Instant now, OutputBuffer& out);
  void evict(std::size_t count, Prng& chance);
  void copy_from(const Parts& master, std::uint64_t position);

  Condition condition = Condition::kReady;
  bool keeps_writes = false;
  std::uint64_t position = 0;
  std::uint64_t commands = 0;
  std::uint64_t run = 1;

  void forget_scripts() { scripts_.forget(); }
  void forget_all() {
    scripts_.forget();
    for (Keyspace& keys : databases_) keys.clear();
    begin_anew();
  }
  void forget_writes_before(std::uint64_t first) {
    while (!writes_.empty() && position - writes_.size() < first) writes_.pop_front();
  }
  std::size_t keys() const {
    std::size_t all = 0;
    for (const Keyspace& keys : databases_) all += keys.size();
    return all;
  }

 private:
  struct Effect {
    int database;
    std::vector<std::string> words;
  };
  using Write = std::vector<Effect>;  // all of one command, or of one script

  std::string refusal(const Command& command, const RedisPeer& peer) const;
  bool refuses_in_script(const Command& command, RedisReply& reply) const;
  void carry(const Command& command, Words words, RedisReply& reply);
  void carry_for_script(Words words, OutputBuffer& reply);
  void note(Effect effect);
  void end_write();
  void begin_anew();
  void apply(const Write& write);

  void serve(const Command& command, RedisPeer& peer, Words words, RedisReply& reply);
  void script(Words words, RedisReply& reply);
  void evaluate(const Command& command, Words words, RedisReply& reply);

  const RedisModelOptions options_;
  std::array<Keyspace, kDatabases> databases_;
  std::int64_t peers_ = 0;

  // The current command's.
  int database_ = 0;
  Instant now_;
  bool has_written_ = false;
  bool has_called_writer_ = false;  // by a script
  Write write_;

  std::deque<Write> writes_;                                    // the last is at `position`
  std::shared_ptr<const int> self_ = std::make_shared<int>(0);  // this master's history
  std::shared_ptr<const int> followed_;                         // whose prefix this is

  Scripts scripts_;
};

void RedisModel::Parts::execute(RedisPeer& peer, Words words, Instant now, OutputBuffer& out) {
  if (words.empty()) return;
  ++commands;
  if (peer.id == 0) peer.id = ++peers_;
  RedisReply reply(out, protocol_of(peer));
  const Command* const command = find_command(words[0]);
  if (command == nullptr) return reply.error(unknown_command(words));
  if (!has_words_of(*command, words.size())) return reply.error(wrong_number(words[0]));
  if (const std::string why = refusal(*command, peer); !why.empty()) {
    return reply.error(why);
  }
  database_ = peer.database;
  now_ = now;
  if (command->handler != nullptr) {
    carry(*command, words, reply);
  } else {
    serve(*command, peer, words, reply);
  }
  end_write();
}

// The checks are in Redis's order.
std::string RedisModel::Parts::refusal(const Command& command, const RedisPeer& peer) const {
  const bool is_stranger = !options_.password.empty() && !peer.is_logged_in;
  if (is_stranger && (command.flags & Command::kBeforeLogin) == 0) {
    return "NOAUTH Authentication required.";
  }
  if (condition == Condition::kOutOfMemory && (command.flags & Command::kTakesMemory) != 0) {
    return "OOM command not allowed when used memory > 'maxmemory'.";
  }
  if (condition == Condition::kReadOnly && (command.flags & Command::kWrites) != 0) {
    return "READONLY You can't write against a read only replica.";
  }
  if (condition == Condition::kLoading && (command.flags & Command::kWhileLoading) == 0) {
    return "LOADING Redis is loading the dataset in memory";
  }
  return {};
}

void RedisModel::Parts::carry(const Command& command, Words words, RedisReply& reply) {
  Keyspace& keys = databases_[static_cast<std::size_t>(database_)];
  CommandCall call{.words = words,
                   .keys = keys,
                   .now = now_,
                   .reply = reply,
                   .hash_entries_max = options_.hash_listpack_entries_max,
                   .hash_value_max = options_.hash_listpack_value_max,
                   .is_told = keeps_writes,
                   .run = run};
  command.handler(call);
  for (std::string& key : keys.take_gone()) note({database_, {"DEL", std::move(key)}});
  if (!call.has_written) return;
  if (command.name == "flushall") {
    for (Keyspace& other : databases_) other.clear();
  }
  note({database_, std::move(call.effect)});
}

void RedisModel::Parts::note(Effect effect) {
  has_written_ = true;
  if (keeps_writes) write_.push_back(std::move(effect));
}

// Replicas get all writes of one command, or none.
void RedisModel::Parts::end_write() {
  if (!std::exchange(has_written_, false)) return;
  ++position;
  followed_ = nullptr;
  if (keeps_writes) writes_.push_back(std::exchange(write_, {}));
}

void RedisModel::Parts::begin_anew() {
  self_ = std::make_shared<int>(0);
  followed_ = nullptr;
  writes_.clear();
  ++position;
}

void RedisModel::Parts::evict(std::size_t count, Prng& chance) {
  for (; count > 0 && keys() > 0; --count) {
    const auto filled =
        std::ranges::find_if(databases_, [](const auto& d) { return d.size() > 0; });
    const std::string key = filled->any(chance);
    filled->erase(key);
    note({static_cast<int>(filled - databases_.begin()), {"DEL", key}});
  }
  end_write();
}

void RedisModel::Parts::copy_from(const Parts& master, std::uint64_t until) {
  until = std::min(until, master.position);
  const std::uint64_t first_kept = master.position - master.writes_.size();
  const bool is_behind = followed_ == master.self_ && position >= first_kept && position <= until;
  if (is_behind) {
    for (; position < until; ++position) apply(master.writes_[position - first_kept]);
    return;
  }
  databases_ = master.databases_;
  begin_anew();
  position = master.position;
  followed_ = master.self_;
}

// Nothing expires at the epoch, and the words mean the same at any time.
void RedisModel::Parts::apply(const Write& write) {
  OutputBuffer replies;
  RedisReply reply(replies, resp::Protocol::kResp2);
  now_ = Instant{};
  std::vector<std::string_view> words;
  for (const Effect& effect : write) {
    words.assign(effect.words.begin(), effect.words.end());
    database_ = effect.database;
    carry(*find_command(words[0]), words, reply);
  }
  has_written_ = false;
  // Its own replicas get them.
  if (keeps_writes) writes_.push_back(std::exchange(write_, {}));
}

// ---- scripts ----

void RedisModel::Parts::carry_for_script(Words words, OutputBuffer& out) {
  RedisReply reply(out, resp::Protocol::kResp2);
  const Command* const command = find_command(words[0]);
  if (command == nullptr) return reply.error("ERR Unknown Redis command called from script");
  if (!has_words_of(*command, words.size())) {
    return reply.error("ERR Wrong number of args calling Redis command from script");
  }
  if ((command->flags & Command::kNotInScripts) != 0 || command->handler == nullptr) {
    return reply.error("ERR This Redis command is not allowed from script");
  }
  if (refuses_in_script(*command, reply)) return;
  has_called_writer_ = has_called_writer_ || (command->flags & Command::kWrites) != 0;
  carry(*command, words, reply);
}

// A script that has begun to write goes on when memory gets short.
bool RedisModel::Parts::refuses_in_script(const Command& command, RedisReply& reply) const {
  if (condition == Condition::kReadOnly && (command.flags & Command::kWrites) != 0) {
    reply.error("READONLY You can't write against a read only replica.");
    return true;
  }
  if (condition == Condition::kOutOfMemory && (command.flags & Command::kTakesMemory) != 0 &&
      !has_called_writer_) {
    reply.error("OOM command not allowed when used memory > 'maxmemory'.");
    return true;
  }
  return false;
}

void RedisModel::Parts::evaluate(const Command& command, Words words, RedisReply& reply) {
  const KeyCount count = key_count(words);
  if (!count.wrong.empty()) return reply.error(count.wrong);
  std::string sha;
  if (command.name == "eval") {
    sha = scripts_.load(words[1], reply);
    if (sha.empty()) return;
  } else {
    sha = small_letters(words[1]);
    if (!scripts_.has(sha)) {
      return reply.error("NOSCRIPT No matching script. Please use EVAL.");
    }
  }
  has_called_writer_ = false;
  const Words rest = words.subspan(3);
  scripts_.run(sha, rest.first(count.keys), rest.subspan(count.keys), reply);
}

void RedisModel::Parts::script(Words words, RedisReply& reply) {
  const std::string name = small_letters(words[1]);
  const bool has_argument = words.size() > 2;
  if (name == "load" && words.size() == 3) {
    const std::string sha = scripts_.load(words[2], reply);
    if (!sha.empty()) reply.bulk(sha);
  } else if (name == "exists" && has_argument) {
    reply.array(words.size() - 2);
    for (const auto sha : words.subspan(2)) reply.integer(scripts_.has(small_letters(sha)) ? 1 : 0);
  } else if (name == "flush") {
    scripts_.forget();
    reply.status("OK");
  } else if (name == "kill" && !has_argument) {
    reply.error("NOTBUSY No scripts in execution right now.");
  } else if (name == "load" || name == "exists" || name == "kill") {
    reply.error(wrong_number("script|" + name));
  } else {
    reply.error("ERR unknown subcommand '" + std::string(words[1]) + "'. Try SCRIPT HELP.");
  }
}

void RedisModel::Parts::serve(const Command& command, RedisPeer& peer, Words words,
                              RedisReply& reply) {
  if (command.name.starts_with("eval")) return evaluate(command, words, reply);
  if (command.name == "script") return script(words, reply);
  serve_connection(command.name, {.peer = peer,
                                  .words = words,
                                  .options = options_,
                                  .role = condition == Condition::kReadOnly ? "replica" : "master",
                                  .position = position,
                                  .reply = reply});
}

// ---- the seam ----

RedisModel::RedisModel(RedisModelOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}
RedisModel::~RedisModel() = default;

void RedisModel::execute(RedisPeer& peer, std::span<const std::string_view> words, Instant now,
                         OutputBuffer& out) {
  parts_->execute(peer, words, now, out);
}
void RedisModel::set_condition(Condition condition) { parts_->condition = condition; }
void RedisModel::set_run(std::uint64_t number) { parts_->run = number; }
void RedisModel::forget_scripts() { parts_->forget_scripts(); }
void RedisModel::forget_all() { parts_->forget_all(); }
void RedisModel::evict(std::size_t count, Prng& chance) { parts_->evict(count, chance); }
std::uint64_t RedisModel::position() const { return parts_->position; }
void RedisModel::keep_writes() { parts_->keeps_writes = true; }
void RedisModel::forget_writes_before(std::uint64_t position) {
  parts_->forget_writes_before(position);
}
void RedisModel::copy_from(const RedisModel& master, std::uint64_t position) {
  parts_->copy_from(*master.parts_, position);
}
std::size_t RedisModel::keys() const { return parts_->keys(); }
std::uint64_t RedisModel::commands() const { return parts_->commands; }

}  // namespace weir::lab
