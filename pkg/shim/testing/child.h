// Runs a part of a test in a child process with its own environment, because a library that reads
// its environment when it is loaded can be loaded only once per process.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace yardmaster::shim {

using Environment = std::map<std::string, std::string>;

// Returns true if `body` ended without a failed expectation and the child exited normally.
bool RunInChild(const Environment& environment, const std::function<void()>& body);

// Runs a program and returns its output, including standard error. The result starts with "exit
// <wait status>: " if it failed.
std::string RunProgram(const Environment& environment, const std::string& program);

// Creates a new folder below the temporary one.
std::string MakeFolder();
void WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);
// Returns the contents of all files of a folder.
std::string ReadFolder(const std::string& folder);

}  // namespace yardmaster::shim
