#include "pkg/cli/input/read_input.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "pkg/base/status.h"

namespace yardmaster::cli {
namespace {

TEST(ReadInputTest, AFolderIsRefusedByName) {
  std::istringstream in;
  const auto text = ReadInput(testing::TempDir(), in);
  EXPECT_EQ(MessageOf(text.status()), testing::TempDir() + ": is a folder; name a file in it");
}

TEST(ReadInputTest, AByteOrderMarkIsNotPartOfTheText) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "-mark.csv";
  std::ofstream(file) << "\xEF\xBB\xBFjob_name,model\n";
  std::istringstream in("\xEF\xBB\xBF{}");
  EXPECT_EQ(ReadInput(file, in).value(), "job_name,model\n");
  EXPECT_EQ(ReadInput("-", in).value(), "{}");
}

}  // namespace
}  // namespace yardmaster::cli
