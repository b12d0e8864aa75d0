// Provides what the verbs share to parse flags with CLI11 and to fail.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace yardmaster::cli {

// Parses `args` into what `app` declares. Returns nullopt if the verb continues; otherwise the exit
// code: 0 after --help (printed to `out`), 2 after wrong usage (explained on `err`).
std::optional<int> ParseFlags(CLI::App& app, const std::vector<std::string>& args,
                              std::ostream& out, std::ostream& err);

// Prints the message and returns 1.
int Fail(const absl::Status& status, std::ostream& err);

// Validators of numbers. CLI11's own accept NaN, and convert a negative seed to a large one.
CLI::Validator NumberBetween(double low, double high);
CLI::Validator PositiveNumber();

// Declares --seed.
void DeclareSeed(std::uint64_t& seed, CLI::App& app);

}  // namespace yardmaster::cli
