#include "test/chaos/chaos_flags.h"

#include <cstdio>
#include <optional>
#include <string_view>

#include "pkg/base/strings.h"

namespace yardmaster::chaos {

namespace {

template <typename T>
bool ReadNumber(std::string_view argument, std::string_view name, T& out) {
  if (!argument.starts_with(name)) return false;
  const std::optional<T> value = ParseNumber<T>(argument.substr(name.size()));
  if (value.has_value()) out = *value;
  return value.has_value();
}

bool ReadFlag(std::string_view argument, ChaosFlags& flags) {
  if (argument == "--tell") return flags.tell = true;
  return ReadNumber(argument, "--first-seed=", flags.first_seed) ||
         ReadNumber(argument, "--histories=", flags.histories) ||
         ReadNumber(argument, "--steps=", flags.steps);
}

}  // namespace

bool ReadChaosFlags(int argc, char** argv, ChaosFlags& flags) {
  for (int i = 1; i < argc; ++i) {
    if (ReadFlag(argv[i], flags)) continue;
    std::fprintf(stderr, "%s: unknown flag; use --first-seed=N --histories=N --steps=N --tell\n",
                 argv[i]);
    return false;
  }
  return true;
}

}  // namespace yardmaster::chaos
