#include "net/socket_dialer.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/if_memory.h"
#include "base/ip_address.h"
#include "net/channel.h"
#include "net/sockets/address.h"
#include "net/sockets/socket_options.h"

namespace weir {
namespace {

using Status = IoResult::Status;

std::string error_text(int error) { return std::generic_category().message(error); }

// -1 if that fails.
int make_socket(int family) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0 || family == AF_UNIX) return socket;
  switch_on(socket, IPPROTO_TCP, TCP_NODELAY);
  switch_on(socket, SOL_SOCKET, SO_KEEPALIVE);  // finds peers that went without a word
  return socket;
}

}  // namespace

// It is destroyed at the end of the round in which it got an outcome or was given up, since an
// event for it may still come.
class SocketDialer::Attempt final : public EventLoop::Watcher {
 public:
  Attempt(SocketDialer& dialer, std::uint64_t id, Destination destination, Instant deadline,
          DialListener& listener)
      : dialer_(dialer),
        id_(id),
        destination_(std::move(destination)),
        deadline_(deadline),
        listener_(&listener),
        alarm_(dialer.loop_.make_alarm([this](Instant now) { ring(now); })) {
    alarm_->set(dialer.loop_.now());  // begins from the loop: dial() calls no listener
  }
  ~Attempt() { hang_up(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  std::uint64_t id() const { return id_; }

  void give_up() {
    if (take_listener() != nullptr) hang_up();
  }

  void ready(std::uint32_t) override {
    attempt([this] {
      if (step_ == Step::kConnect) return finish_connecting();
      if (step_ == Step::kHandshake) shake_hands();
    });
  }

  void woken() override { dialer_.forget(*this); }

 private:
  // Fails if there is no memory for `work`.
  template <typename Work>
  void attempt(const Work& work) {
    if (!has_memory_for(work)) fail("no memory");
  }

  enum class Step : std::uint8_t { kBegin, kLookup, kConnect, kHandshake, kDone };

  void ring(Instant now) {
    attempt([this, now] { act_on_time(now); });
  }

  void act_on_time(Instant now) {
    if (step_ == Step::kBegin) return begin(now);
    if (step_ == Step::kLookup) return fail("its name is not found in time");
    if (step_ == Step::kHandshake) {
      return fail("TLS: no answer in time, as happens at a port without TLS");
    }
    fault_ = "no answer in time";
    if (step_ == Step::kConnect) connect_next(now);
  }

  void begin(Instant now) {
    alarm_->set(deadline_);
    const bool needs_lookup =
        !destination_.is_unix() && !IpAddress::parse(destination_.host).has_value();
    if (!needs_lookup) {
      add_address(destination_);
      return connect_next(now);
    }
    step_ = Step::kLookup;
    const bool asked = dialer_.lookup_.ask(
        destination_.host, [&dialer = dialer_, id = id_](const NameLookup::Answer& answer) {
          Attempt* const attempt = dialer.find(id);
          if (attempt == nullptr) return;
          attempt->attempt([&] { attempt->looked_up(answer, dialer.loop_.now()); });
        });
    if (!asked) fail("too many names are being looked up");
  }

  void looked_up(const NameLookup::Answer& answer, Instant now) {
    if (step_ != Step::kLookup) return;
    for (const auto& address : answer.addresses) {
      auto place = destination_;
      place.host = address.to_string();
      add_address(place);
    }
    fault_ = answer.fault;
    connect_next(now);
  }

  void add_address(const Destination& destination) {
    const auto parsed = Address::parse(destination.to_string());
    if (parsed) addresses_.push_back(*parsed);
  }

  // Each remaining address gets the same share of the remaining time.
  void connect_next(Instant now) {
    step_ = Step::kConnect;
    hang_up();
    while (next_ < addresses_.size()) {
      const auto left = static_cast<Duration::rep>(addresses_.size() - next_);
      const Address& address = addresses_[next_++];
      channel_ = Channel(UniqueFd(make_socket(address.family())));
      const int socket = channel_.socket();
      const bool under_way =
          socket >= 0 &&
          (::connect(socket, address.data(), address.size()) == 0 || errno == EINPROGRESS);
      if (under_way && dialer_.loop_.watch(socket, EPOLLOUT, *this)) {
        alarm_->set(now + (deadline_ - now) / left);
        return;
      }
      fault_ = error_text(errno);
    }
    fail(fault_.empty() ? "there is no such address" : fault_);
  }

  void finish_connecting() {
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(channel_.socket(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      fault_ = error_text(error);
      return connect_next(dialer_.loop_.now());
    }
    if (destination_.encryption == Encryption::kNone) return arrive();
    auto tls = dialer_.tls_ ? dialer_.tls_->connect(channel_.socket(), destination_.host) : nullptr;
    if (tls == nullptr) return fail("TLS is not set up");
    channel_.use_tls(std::move(tls));
    step_ = Step::kHandshake;
    alarm_->set(deadline_);
    shake_hands();
  }

  void shake_hands() {
    const auto status = channel_.tls()->handshake().status;
    if (status == Status::kDone) return arrive();
    const bool goes_on = status == Status::kWantsInput || status == Status::kWantsOutput;
    if (!goes_on) return fail("TLS: " + channel_.tls()->refusal());
    const std::uint32_t wanted = status == Status::kWantsInput ? EPOLLIN : EPOLLOUT;
    dialer_.loop_.change(channel_.socket(), wanted, *this);
  }

  void arrive() {
    if (!dialer_.budget_.take()) return fail("too many connections are open");
    dialer_.loop_.unwatch(channel_.socket());
    const Instant now = dialer_.loop_.now();
    DialListener& listener = *take_listener();
    std::unique_ptr<Session> session;
    const bool is_kept = has_memory_for([&] {
      session = listener.connected(now);
      dialer_.connections_.add(std::move(channel_), std::move(session));
    });
    if (is_kept) return;
    dialer_.budget_.give_back();
    // The destructor of a session that could not be kept has told the listener.
    if (channel_.socket() >= 0) tell(listener, "no memory");
    hang_up();
  }

  void hang_up() {
    if (channel_.socket() >= 0) dialer_.loop_.unwatch(channel_.socket());
    channel_ = Channel(UniqueFd());
  }

  void fail(const std::string& why) {
    hang_up();
    auto* const listener = take_listener();
    if (listener != nullptr) tell(*listener, why);
  }

  // A listener without memory for the text knows the deadline that it has set.
  void tell(DialListener& listener, const std::string& why) {
    has_memory_for([&] { listener.not_connected(why, dialer_.loop_.now()); });
  }

  // Null after an outcome. This is destroyed soon.
  DialListener* take_listener() {
    if (step_ != Step::kDone) dialer_.loop_.wake_soon(*this);
    step_ = Step::kDone;
    alarm_->set(Instant::max());
    return std::exchange(listener_, nullptr);
  }

  SocketDialer& dialer_;
  const std::uint64_t id_;
  const Destination destination_;
  const Instant deadline_;
  DialListener* listener_;
  Step step_ = Step::kBegin;
  std::vector<Address> addresses_;
  std::size_t next_ = 0;  // of addresses_
  std::string fault_;     // of the last address
  Channel channel_{UniqueFd()};
  std::unique_ptr<Alarm> alarm_;
};

// The asker's handle. The attempt may be gone, and another one may be at its address.
class SocketDialer::Handle final : public Dial {
 public:
  Handle(SocketDialer& dialer, std::uint64_t attempt) : dialer_(dialer), attempt_(attempt) {}
  ~Handle() override {
    Attempt* const attempt = dialer_.find(attempt_);
    if (attempt != nullptr) attempt->give_up();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  SocketDialer& dialer_;
  const std::uint64_t attempt_;
};

SocketDialer::SocketDialer(EventLoop& loop)
    : loop_(loop), lookup_(loop), connections_(loop, budget_) {}

SocketDialer::~SocketDialer() = default;

std::unique_ptr<Dial> SocketDialer::dial(const Destination& destination, Instant deadline,
                                         DialListener& listener) {
  const std::uint64_t id = next_id_++;
  attempts_.push_back(std::make_unique<Attempt>(*this, id, destination, deadline, listener));
  return std::make_unique<Handle>(*this, id);
}

// Null if the attempt is gone.
SocketDialer::Attempt* SocketDialer::find(std::uint64_t id) {
  const auto found =
      std::ranges::find(attempts_, id, [](const auto& attempt) { return attempt->id(); });
  return found != attempts_.end() ? found->get() : nullptr;
}

void SocketDialer::forget(const Attempt& attempt) {
  std::erase_if(attempts_, [&](const auto& candidate) { return candidate.get() == &attempt; });
}

}  // namespace weir
