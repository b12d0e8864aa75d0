#include <CLI/CLI.hpp>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/app/runtime.h"

namespace yardmaster::app {
namespace {

TEST(FlagsTest, NoLimitIsNotANumber) {
  CommonOptions options;
  double share = 0.25;
  for (const char* flag : {"--replace-share=nan", "--replace-share=-NaN", "--kube-api-qps=nan"}) {
    CLI::App app("a process", "process");
    AddCommonFlags(app, options);
    app.add_option("--replace-share", share, "a limit")->check(CLI::Range(0.0, 1.0));
    FinishFlags(app);
    const char* arguments[] = {"process", flag};
    EXPECT_THROW(app.parse(2, arguments), CLI::ValidationError) << flag;
    EXPECT_EQ(share, 0.25);
    const char* good[] = {"process", "--replace-share=0.25", "--kube-api-qps=20"};
    app.parse(3, good);
    EXPECT_EQ(options.kube_api_qps, 20);
  }
}

// The chart's extraArgs stand behind what the chart writes itself.
TEST(FlagsTest, TheLastOfAFlagCounts) {
  CommonOptions options;
  LeaderOptions leader;
  std::vector<std::string> repeated;
  CLI::App app("a process", "process");
  AddCommonFlags(app, options);
  AddLeaderFlags(app, leader);
  app.add_option("--gpu-peak", repeated, "may be repeated");
  FinishFlags(app);
  const char* arguments[] = {"process",
                             "--metrics-bind-address=:8080",
                             "--verbosity=2",
                             "--leader-elect",
                             "--gpu-peak=a=1",
                             "--metrics-bind-address=[::1]:9",
                             "-v",
                             "4",
                             "--no-leader-elect",
                             "--gpu-peak=b=2"};
  app.parse(static_cast<int>(std::size(arguments)), arguments);
  EXPECT_EQ(options.metrics_address, "[::1]:9");
  EXPECT_EQ(options.verbosity, 4);
  EXPECT_FALSE(leader.enabled);
  EXPECT_EQ(repeated, (std::vector<std::string>{"a=1", "b=2"}));
}

}  // namespace
}  // namespace yardmaster::app
