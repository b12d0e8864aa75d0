#include "pkg/kube/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::kube {
namespace {

constexpr std::size_t kKeptErrorBytes = 4096;
// How often a stop is looked for.
constexpr int kStopPollMs = 50;

using SteadyClock = std::chrono::steady_clock;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(StrCat("pipe: ", std::strerror(errno)));
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& argv,
                            const std::vector<std::string>& env, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv_pointers = Pointers(argv);
  std::vector<char*> env_pointers = Pointers(env);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, argv_pointers.data(),
                                 env_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  const std::string text = StrCat(argv[0], ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == EACCES) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

// Reads both pipes to their ends. False when the deadline or the stop came first.
absl::StatusOr<bool> Collect(Pipe& output, Pipe& errors, SteadyClock::time_point deadline,
                             const std::stop_token& stop, std::size_t max_output_bytes,
                             ProcessResult& result) {
  std::array<pollfd, 2> polled = {pollfd{output.read.get(), POLLIN, 0},
                                  pollfd{errors.read.get(), POLLIN, 0}};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    const int left_ms = MsUntil(deadline);
    const int ready = poll(polled.data(), polled.size(), std::min(left_ms, kStopPollMs));
    if (stop.stop_requested()) return false;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left_ms > 0) continue;
    if (ready <= 0) return false;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(polled[i].fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        polled[i].fd = -1;
        continue;
      }
      std::string& text = i == 0 ? result.output : result.errors;
      text.append(buffer, static_cast<std::size_t>(n));
      if (result.output.size() > max_output_bytes) {
        return absl::InvalidArgumentError(
            StrCat("more than ", max_output_bytes, " bytes of output"));
      }
      if (result.errors.size() > 2 * kKeptErrorBytes) {
        result.errors.erase(0, result.errors.size() - kKeptErrorBytes);
      }
    }
  }
  return true;
}

// Waits for the end of `pid`. False when the deadline or the stop came first.
bool Reap(pid_t pid, SteadyClock::time_point deadline, const std::stop_token& stop,
          ProcessResult& result) {
  constexpr int kPollMs = 5;
  for (;;) {
    int status = 0;
    const pid_t done = waitpid(pid, &status, WNOHANG);
    if (done == pid) {
      result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return true;
    }
    if (done < 0 && errno != EINTR) return true;  // another thread has reaped it
    const int left_ms = MsUntil(deadline);
    if (left_ms == 0 || stop.stop_requested()) return false;
    poll(nullptr, 0, std::min(left_ms, kPollMs));
  }
}

}  // namespace

absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& argv,
                                         const std::vector<std::string>& env,
                                         std::int64_t timeout_ms, std::size_t max_output_bytes,
                                         const std::stop_token& stop) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(timeout_ms);
  YM_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  YM_ASSIGN_OR_RETURN(Pipe errors, MakePipe());
  YM_ASSIGN_OR_RETURN(const pid_t pid, Spawn(argv, env, output.write.get(), errors.write.get()));
  output.write = UniqueFd();
  errors.write = UniqueFd();
  ProcessResult result;
  const absl::StatusOr<bool> collected =
      Collect(output, errors, deadline, stop, max_output_bytes, result);
  if (!collected.ok() || !*collected || !Reap(pid, deadline, stop, result)) {
    kill(-pid, SIGKILL);
    Reap(pid, SteadyClock::now() + std::chrono::seconds(10), {}, result);
    if (!collected.ok()) return Annotate(collected.status(), argv[0]);
    if (stop.stop_requested()) return absl::CancelledError(StrCat(argv[0], ": stopped"));
    return absl::DeadlineExceededError(
        StrCat(argv[0], ": not finished after ", timeout_ms, " ms and killed"));
  }
  return result;
}

}  // namespace yardmaster::kube
