// Child processes for tests: a long-running one with pipes, and one that is run to its end.
//
// A Process owns its child: the destructor kills and waits, so a test that ends early leaves
// nothing behind. Errors name the program. Thread safety: one thread at a time per object.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "pkg/base/status.h"

namespace yardmaster::testing {

// The program (a path, or a name looked up on PATH) and its arguments.
using Command = std::vector<std::string>;

class Process {
 public:
  struct Options {
    Command command;
    std::map<std::string, std::string> environment = {};  // on top of our own
    std::string log_file;  // standard error goes here; to ours when empty
  };

  // Standard input and standard output are pipes to us.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of its standard output without the newline; nothing when the output has ended.
  std::optional<std::string> ReadLine();
  void CloseInput();
  void Signal(int signal) const;
  // Waits for the end: the exit code, or 128 plus the signal. Later calls return the same.
  int Wait();

 private:
  Process(pid_t pid, int input, int output) : pid_(pid), input_(input), output_(output) {}

  pid_t pid_;
  int input_;
  int output_;
  std::string unread_;
  std::optional<int> exit_code_;
};

// Runs a program to its end and returns its standard output. An exit code other than 0 is an error
// that carries the code and the standard error.
absl::StatusOr<std::string> RunProgram(const Command& command, const std::string& input = "",
                                       const std::map<std::string, std::string>& environment = {});

// Whether a process with this id exists and is not merely waiting to be reaped.
bool IsRunning(pid_t pid);

}  // namespace yardmaster::testing
