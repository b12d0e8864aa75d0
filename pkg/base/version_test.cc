#include "pkg/base/version.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(Version, NamesTheCommitByItsFirstDigits) {
  EXPECT_EQ(VersionTextOf("0.1.0", "808981c04d1200000000000000000000000000ff", "linux/arm64"),
            "0.1.0 (commit 808981c04d12, linux/arm64)");
}

TEST(Version, ABuildWithoutACommitIsNoRelease) {
  EXPECT_EQ(VersionTextOf("0.1.0", "", "linux/amd64"), "0.1.0 (development build, linux/amd64)");
}

TEST(Version, OfThisBuildBeginsTheText) {
  EXPECT_THAT(std::string(Version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  EXPECT_THAT(VersionText(), testing::StartsWith(std::string(Version()) + " ("));
}

}  // namespace
}  // namespace yardmaster
