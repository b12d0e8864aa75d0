#include "test/integration/process.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <signal.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::testing {
namespace {

// Closes a descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status Errno(std::string_view what, int error) {
  return absl::InternalError(StrCat(what, ": ", std::string_view(std::strerror(error))));
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Our environment with `added` in place of, or beside, what is there.
std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    if (!added.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(StrCat(name, "=", value));
  return result;
}

// Starts the program with the three descriptors as its standard ones; nothing else is inherited,
// since every descriptor made here closes on exec.
absl::StatusOr<pid_t> Spawn(Command command, const std::map<std::string, std::string>& environment,
                            const std::array<int, 3>& standard) {
  if (command.empty()) return absl::InvalidArgumentError("no program to run");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, standard[i], i);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> variables = Environment(environment);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, command[0].c_str(), &actions, &attributes,
                           Pointers(command).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Errno(StrCat("cannot run ", command[0]), error);
  return pid;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Contents(int fd) {
  lseek(fd, 0, SEEK_SET);
  std::string text;
  char buffer[1 << 14];
  ssize_t n = 0;
  while ((n = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(n));
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const Options& options) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return Errno("pipe", errno);
  Descriptor child_in(in[0]);
  Descriptor our_in(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return Errno("pipe", errno);
  Descriptor our_out(out[0]);
  Descriptor child_out(out[1]);
  Descriptor log(options.log_file.empty() ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
                                          : open(options.log_file.c_str(),
                                                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (log.get() < 0) return Errno(options.log_file, errno);
  YM_ASSIGN_OR_RETURN(pid_t pid, Spawn(options.command, options.environment,
                                       {child_in.get(), child_out.get(), log.get()}));
  return std::unique_ptr<Process>(new Process(pid, our_in.release(), our_out.release()));
}

Process::~Process() {
  if (!exit_code_) {
    Signal(SIGKILL);
    Wait();
  }
  CloseInput();
  close(output_);
}

std::optional<std::string> Process::ReadLine() {
  while (true) {
    if (size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    ssize_t n = read(output_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    unread_.append(buffer, static_cast<size_t>(n));
  }
}

void Process::CloseInput() {
  if (input_ >= 0) close(std::exchange(input_, -1));
}

void Process::Signal(int signal) const {
  // Once waited for, the id may belong to another process.
  if (!exit_code_) kill(pid_, signal);
}

int Process::Wait() {
  if (!exit_code_) exit_code_ = WaitFor(pid_);
  return *exit_code_;
}

absl::StatusOr<std::string> RunProgram(const Command& command, const std::string& input,
                                       const std::map<std::string, std::string>& environment) {
  // Files in memory instead of pipes: neither side ever waits for the other to read.
  Descriptor in(memfd_create("input", MFD_CLOEXEC));
  Descriptor out(memfd_create("output", MFD_CLOEXEC));
  Descriptor err(memfd_create("errors", MFD_CLOEXEC));
  if (in.get() < 0 || out.get() < 0 || err.get() < 0) return Errno("memfd_create", errno);
  for (size_t done = 0; done < input.size();) {
    ssize_t n = write(in.get(), input.data() + done, input.size() - done);
    if (n < 0) return Errno("write", errno);
    done += static_cast<size_t>(n);
  }
  lseek(in.get(), 0, SEEK_SET);
  YM_ASSIGN_OR_RETURN(pid_t pid, Spawn(command, environment, {in.get(), out.get(), err.get()}));
  if (int code = WaitFor(pid); code != 0) {
    return absl::UnknownError(
        StrCat(Join(command, " "), ": exit code ", code, ": ", Contents(err.get())));
  }
  return Contents(out.get());
}

bool IsRunning(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/stat"));
  std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // "<id> (<name>) <state> ...", and the name may hold anything.
  size_t end_of_name = stat.rfind(") ");
  if (end_of_name == std::string::npos || end_of_name + 2 >= stat.size()) return false;
  char state = stat[end_of_name + 2];
  return state != 'Z' && state != 'X';
}

}  // namespace yardmaster::testing
