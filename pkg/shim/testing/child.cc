#include "pkg/shim/testing/child.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace yardmaster::shim {

namespace {

void Apply(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace

bool RunInChild(const Environment& environment, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Apply(environment);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string RunProgram(const Environment& environment, const std::string& program) {
  std::string command;
  for (const auto& [name, value] : environment) command += name + "='" + value + "' ";
  std::FILE* pipe = popen((command + program + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "cannot run";
  std::string output;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  const int status = pclose(pipe);
  return status == 0 ? output : "exit " + std::to_string(status) + ": " + output;
}

std::string MakeFolder() {
  std::string name = testing::TempDir() + "/shim-XXXXXX";
  return mkdtemp(name.data()) == nullptr ? "" : name;
}

void WriteFile(const std::string& path, const std::string& text) {
  // By a rename, as Kubernetes does.
  const std::string half = path + ".new";
  std::ofstream(half, std::ios::binary) << text;
  std::filesystem::rename(half, path);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ReadFolder(const std::string& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    text += ReadFile(entry.path().string());
  }
  return text;
}

}  // namespace yardmaster::shim
