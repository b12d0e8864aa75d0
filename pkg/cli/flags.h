// What the verbs share in reading their flags with CLI11. Thread safety: pure functions.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace yardmaster::cli {

// Parses into what `app` declares. Nothing: go on. Otherwise the exit code: 0 after --help (printed
// to `out`), 2 after wrong usage (said on `err`).
std::optional<int> ParseFlags(CLI::App& app, const std::vector<std::string>& args,
                              std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
