// The fuzz target over whole clusters (test/fuzz/cluster_pass_fuzz.cc) on seeded inputs, so that
// every test run makes some thousand passes over hostile objects.
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace yardmaster::extender {
namespace {

// A finding ends the program and names itself on standard error.
TEST(HostileClustersTest, NoPassCrashesThrowsOrCommitsWhatTheVerifierRefuses) {
  for (unsigned seed = 1; seed <= Rounds(150u); ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::vector<std::uint8_t> bytes(300 + random() % 700);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  }
}

}  // namespace
}  // namespace yardmaster::extender
