#include <CLI/CLI.hpp>

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
    RefuseNan(app);
    const char* arguments[] = {"process", flag};
    EXPECT_THROW(app.parse(2, arguments), CLI::ValidationError) << flag;
    EXPECT_EQ(share, 0.25);
    const char* good[] = {"process", "--replace-share=0.25", "--kube-api-qps=20"};
    app.parse(3, good);
    EXPECT_EQ(options.kube_api_qps, 20);
  }
}

}  // namespace
}  // namespace yardmaster::app
