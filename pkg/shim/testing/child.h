// Runs a part of a test in a child process with an environment of its own: a library that reads its
// environment when it is loaded can be loaded once a process.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace yardmaster::shim {

using Environment = std::map<std::string, std::string>;

// True when `body` ended without a failed expectation and the child exited by itself.
bool RunInChild(const Environment& environment, const std::function<void()>& body);

// Runs a program; its output, standard error included. Begins with "exit <wait status>: " if it
// failed.
std::string RunProgram(const Environment& environment, const std::string& program);

// A new folder below the temporary one.
std::string MakeFolder();
void WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);
// The contents of all files of a folder.
std::string ReadFolder(const std::string& folder);

}  // namespace yardmaster::shim
