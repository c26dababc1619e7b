#include "cli/gateway/nginx_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace weir {
namespace {

constexpr int kExitNotStarted = 127;  // as a shell says

// In the child: with the signals that every program starts with.
[[noreturn]] void become(const NginxProcess::Command& command) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto words = std::array{command.program.c_str(),
                                "-p",
                                command.folder.c_str(),
                                "-c",
                                command.config.c_str(),
                                "-e",
                                "stderr",
                                static_cast<const char*>(nullptr)};
  ::execv(command.program.c_str(), const_cast<char* const*>(words.data()));
  ::_exit(kExitNotStarted);
}

}  // namespace

NginxProcess::NginxProcess(const Command& command) : pid_(::fork()) {
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) become(command);
}

NginxProcess::~NginxProcess() {
  if (pid_ < 0) return;
  signal(SIGTERM);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void NginxProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // -1 would be everybody
}

std::optional<int> NginxProcess::exit_code() {
  end_orphans();
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// nginx's workers outlive a master that is killed, and keep its port. Until it is waited for, no
// other group of processes has its number.
void NginxProcess::end_orphans() const {
  siginfo_t ended{};
  const auto id = static_cast<id_t>(pid_);
  if (pid_ < 0 || ::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  if (ended.si_pid == pid_) ::kill(-pid_, SIGTERM);
}

}  // namespace weir
