#include "pkg/agent/plans/shim_report.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

std::string Line(const char* event, int qp, int planned, int actual, const char* why) {
  return StrCat(R"({"event":")", event, R"(","pid":7,"device":"mlx5_0","port":1,"qp":)", qp,
                R"(,"peer":"10.0.0.9","ordinal":0,"planned":)", planned, R"(,"actual":)", actual,
                R"(,"class":104,"plane":0,"how":"label","why":")", why, "\"}\n");
}

TEST(ShimReportTest, AConnectionCountsOnceAsItsLastLineHasIt) {
  ShimReader reader;
  reader.Add(R"({"event":"loaded","pid":7,"why":"/lib/libibverbs.so.1"})"
             "\n");
  reader.Add(Line("connected", 1, 50001, 50001, ""));
  reader.Add(Line("steered", 1, 50001, 0, "no UDP source port by the device"));
  reader.Add(Line("connected", 2, 40000, 0, "no flow label makes this port"));
  reader.Add(Line("steered", 2, 40000, 40000, ""));
  reader.Add(Line("connected", 3, 50002, 50002, "NCCL_IB_TC of the container wins"));
  reader.Add(Line("passed", 4, 50003, 0, "refused by the device"));
  reader.Add(Line("passed", 5, 0, 0, "peer not in the plan"));
  reader.Add(Line("passed", 5, 0, 0, "peer not in the plan"));
  const ShimSummary summary = reader.Summary();
  EXPECT_EQ(summary.processes, 1);
  EXPECT_EQ(summary.steered, 3);
  EXPECT_EQ(summary.unsteered, 1);
  EXPECT_EQ(summary.unplanned, 1);
  EXPECT_EQ(summary.kept_class, 1);
  EXPECT_EQ(summary.reasons.at("peer not in the plan"), 1);
  EXPECT_EQ(summary.reasons.at("refused by the device"), 1);
}

TEST(ShimReportTest, ALongReasonIsNotCutInsideACharacter) {
  ShimReader reader;
  const std::string kept(63, 'x');
  reader.Add(Line("passed", 1, 50001, 0, (kept + "\xC3\xA9").c_str()));
  EXPECT_EQ(reader.Summary().reasons.count(kept), 1u);
}

TEST(ShimReportTest, WhatIsNotOursIsCountedAndSkipped) {
  ShimReader reader;
  reader.Add("garbage\n[]\n{}\n{\"event\":7}\n" + std::string(5000, 'x') + "\n\n");
  reader.Add(R"({"event":"connected","qp":"x","planned":1.5,"why":[]})"
             "\n{\"event\":\"connected\"");  // and one that is being written
  EXPECT_EQ(reader.Summary().unreadable, 5);
  EXPECT_EQ(reader.Summary().unplanned, 1);
  for (int i = 0; i < 100; ++i) {
    reader.Add(Line("passed", i, 0, 0, StrCat("reason ", i).c_str()));
  }
  EXPECT_LE(reader.Summary().reasons.size(), static_cast<std::size_t>(kMaxReasons));
}

TEST(ShimReportTest, AnyBytesEndInASummary) {
  Random random(1);
  const std::string whole = Line("connected", 1, 50001, 50001, "") + Line("passed", 2, 0, 0, "x");
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) {
      text[random.Below(text.size())] = static_cast<char>(random.Below(256));
    }
    ShimReader reader;
    reader.Add(text);
    const ShimSummary summary = reader.Summary();
    EXPECT_LE(summary.steered + summary.unsteered + summary.unplanned, 3);
  }
}

class ShimFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-shim-folder");
    std::filesystem::remove_all(root_);
    volume_ = StrCat(root_, "/uid-1/volumes/kubernetes.io~empty-dir/yardmaster-status");
    std::filesystem::create_directories(volume_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(StrCat(volume_, "/", name)) << text;
  }
  std::string root_, volume_;
};

TEST_F(ShimFolderTest, AllProcessesOfAPodAreSummedUp) {
  Write("verbs-1-a.jsonl", Line("connected", 1, 50001, 50001, ""));
  Write("verbs-2-b.jsonl", Line("connected", 2, 50001, 50001, ""));
  Write("notes.txt", "x\n");
  EXPECT_EQ(ReadShimReports(root_, "uid-1")->steered, 2);
  EXPECT_TRUE(absl::IsNotFound(ReadShimReports(root_, "uid-2").status()));
}

TEST_F(ShimFolderTest, ATenantCannotMakeTheAgentReadOrWaitForAnythingElse) {
  std::ofstream(StrCat(root_, "/secret")) << Line("connected", 9, 50001, 50001, "");
  std::filesystem::create_symlink(StrCat(root_, "/secret"), StrCat(volume_, "/link.jsonl"));
  ASSERT_EQ(mkfifo(StrCat(volume_, "/fifo.jsonl").c_str(), 0600), 0);
  std::filesystem::create_directory(StrCat(volume_, "/folder.jsonl"));
  Write("large.jsonl", std::string(3 << 20, '\n') + Line("connected", 1, 50001, 50001, ""));
  const auto summary = ReadShimReports(root_, "uid-1");
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(*summary, ShimSummary());
  EXPECT_FALSE(ReadShimReports(root_, "../shim-folder/uid-1").ok());
  EXPECT_FALSE(ReadShimReports(root_, "").ok());
  std::filesystem::remove_all(volume_);
  std::filesystem::create_directory_symlink(root_, volume_);
  EXPECT_FALSE(ReadShimReports(root_, "uid-1").ok()) << "the volume itself is a link";
}

}  // namespace
}  // namespace yardmaster::agent
