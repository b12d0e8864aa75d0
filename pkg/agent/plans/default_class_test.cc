#include "pkg/agent/plans/default_class.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

namespace fs = std::filesystem;

// Two devices as configfs shows them once their folders were made.
class DefaultClassTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-default-class");
    fs::remove_all(root_);
    for (int i = 0; i < 2; ++i) {
      fs::create_directories(fs::path(File(i)).parent_path());
      std::ofstream(File(i)) << 8 * i << "\n";
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string File(int i) const {
    return StrCat(root_, "/rdma_cm/mlx5_", i, "/ports/1/default_roce_tos");
  }
  std::string ValueOf(int i) const {
    std::string value;
    std::ifstream(File(i)) >> value;
    return value;
  }
  DefaultClass Made() const { return {root_, StrCat(root_, "/state.json")}; }

  std::string root_;
  const std::vector<LocalNicPort> ports_ = {{0, 0, "", "mlx5_0", 1}, {1, 0, "", "mlx5_1", 1}};
};

TEST_F(DefaultClassTest, WhatWasThereComesBack) {
  DefaultClass classes = Made();
  ASSERT_TRUE(classes.Apply(ports_, 96).ok());
  EXPECT_EQ(ValueOf(0) + "," + ValueOf(1), "96,96");
  ASSERT_TRUE(classes.Restore().ok());
  EXPECT_EQ(ValueOf(0) + "," + ValueOf(1), "0,8");
  EXPECT_FALSE(fs::exists(StrCat(root_, "/state.json")));
}

TEST_F(DefaultClassTest, AProcessThatDiedIsRestoredByTheNextOne) {
  ASSERT_TRUE(Made().Apply(ports_, 96).ok());
  ASSERT_TRUE(Made().Apply(ports_, 64).ok());
  EXPECT_EQ(ValueOf(1), "64");
  ASSERT_TRUE(Made().Restore().ok());
  EXPECT_EQ(ValueOf(0) + "," + ValueOf(1), "0,8");
}

TEST_F(DefaultClassTest, APortThatCannotBeSetIsNamedAndTheOthersAreSet) {
  fs::remove(File(0));
  const absl::Status status = Made().Apply(ports_, 96);
  EXPECT_NE(status.message().find("mlx5_0/ports/1"), std::string_view::npos) << status;
  EXPECT_EQ(ValueOf(1), "96");
}

TEST_F(DefaultClassTest, WhatIsNoClassIsNeitherKeptNorRestored) {
  std::ofstream(File(0)) << "\xff\xfe\n";
  EXPECT_FALSE(Made().Apply(ports_, 96).ok());
  EXPECT_EQ(ValueOf(0) + "," + ValueOf(1), "\xff\xfe,96");
  // A state file that another program has changed.
  std::ofstream(StrCat(root_, "/state.json"))
      << R"({"mlx5_0/1": "x", "../1": "8", "mlx5_1/ports": "8", "mlx5_1/1": "8"})";
  ASSERT_TRUE(Made().Restore().ok());
  EXPECT_EQ(ValueOf(0) + "," + ValueOf(1), "\xff\xfe,8");
}

TEST_F(DefaultClassTest, WithoutAStateFileNothingIsChanged) {
  DefaultClass classes(root_, StrCat(root_, "/nowhere/state.json"));
  EXPECT_FALSE(classes.Apply(ports_, 96).ok());
  EXPECT_EQ(ValueOf(0), "0");
}

}  // namespace
}  // namespace yardmaster::agent
