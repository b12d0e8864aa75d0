// The flags of the tests over random histories.
#pragma once

#include <cstdint>

namespace yardmaster::chaos {

struct ChaosFlags {
  std::uint64_t first_seed = 1;
  int histories = 0;
  int steps = 0;
  bool tell = false;  // print each history step by step
};

// Reads --first-seed=N, --histories=N, --steps=N and --tell into `flags` once GoogleTest has taken
// its own. False, with a message on stderr, for any other argument.
bool ReadChaosFlags(int argc, char** argv, ChaosFlags& flags);

}  // namespace yardmaster::chaos
