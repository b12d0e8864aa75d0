#include "pkg/agent/link_reporter.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kAnnotation[] = "yardmaster.dev/down-ports";

class LinkReporterTest : public ::testing::Test {
 protected:
  LinkReporterTest() {
    for (const char* name : {"n1", "n2"}) {
      client_.Seed(kube::Nodes(), {{"apiVersion", "v1"},
                                   {"kind", "Node"},
                                   {"metadata", {{"name", name}, {"annotations", {{"x", "y"}}}}}});
    }
    fabric_ = ExampleFabric();
    fabric_->rails = 2;
    fabric_->nic_ports = 1;
  }

  void SetLink(const std::string& folder, int device, bool up) {
    sysfs_.Put(StrCat(folder, "class/infiniband/mlx5_", device, "/ports/1/state"),
               up ? "4: ACTIVE\n" : "1: DOWN\n");
  }
  LinkReporter Make(FolderPerNode folders = FolderPerNode::kNo) {
    return LinkReporter(client_, {sysfs_.path(), folders, {}, DebounceTimes{1'000, 5'000}});
  }
  // The annotation's text, or "(none)".
  std::string Annotation(const std::string& node) const {
    const auto object = client_.Find(kube::Nodes(), "", node);
    EXPECT_EQ((*object)["metadata"]["annotations"]["x"], "y");
    return (*object)["metadata"]["annotations"].value(kAnnotation, "(none)");
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  TempFolder sysfs_;
  std::optional<FabricView> fabric_;
};

TEST_F(LinkReporterTest, AnnouncesALastingLossAndItsEndAndNothingElse) {
  SetLink("", 0, true);
  SetLink("", 1, true);
  LinkReporter reporter = Make();
  EXPECT_THAT(reporter.Poll(0, {"n1"}, fabric_), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "(none)");
  SetLink("", 1, false);
  reporter.Poll(100, {"n1"}, fabric_);
  EXPECT_EQ(Annotation("n1"), "(none)");
  EXPECT_FALSE(reporter.links().at(1).up);  // the status shows what is, debounced or not
  reporter.Poll(1'100, {"n1"}, fabric_);
  EXPECT_EQ(Annotation("n1"), "r1p0");

  client_.ClearCalls();
  for (std::int64_t now = 1'200; now < 3'000; now += 100) reporter.Poll(now, {"n1"}, fabric_);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0);

  SetLink("", 1, true);
  reporter.Poll(3'000, {"n1"}, fabric_);
  reporter.Poll(8'000, {"n1"}, fabric_);
  EXPECT_EQ(Annotation("n1"), "(none)");
  EXPECT_EQ(Annotation("n2"), "(none)");
}

TEST_F(LinkReporterTest, CountersAreThoseOfThePortsThatWerePolled) {
  SetLink("", 0, true);
  SetLink("", 1, true);
  sysfs_.Put("class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  LinkReporter reporter = Make();
  EXPECT_THAT(reporter.ReadCounters(), IsEmpty());
  reporter.Poll(0, {"n1"}, fabric_);
  const auto readings = reporter.ReadCounters();
  ASSERT_THAT(readings, SizeIs(2));
  EXPECT_EQ(readings[0].counters.speed_gbps, std::nullopt);
  EXPECT_EQ(readings[1].node, "n1");
  EXPECT_EQ(readings[1].device, "mlx5_1/1");
  EXPECT_EQ(readings[1].counters.speed_gbps, 400);
}

TEST_F(LinkReporterTest, WhatAFormerLifeLeftIsCorrectedAtOnce) {
  SetLink("", 0, true);
  SetLink("", 1, true);
  nlohmann::json node = *client_.Find(kube::Nodes(), "", "n1");
  node["metadata"]["annotations"][kAnnotation] = "r0p0";
  client_.Seed(kube::Nodes(), node);
  LinkReporter reporter = Make();
  reporter.Poll(0, {"n1"}, fabric_);
  EXPECT_EQ(Annotation("n1"), "(none)");
}

TEST_F(LinkReporterTest, AFailedWriteIsTriedAgain) {
  SetLink("", 0, false);
  SetLink("", 1, true);
  client_.FailNext(kube::Verb::kPatch, "nodes", absl::UnavailableError("down"), 2);
  LinkReporter reporter = Make();
  EXPECT_THAT(reporter.Poll(0, {"n1"}, fabric_), SizeIs(1));
  EXPECT_THAT(reporter.Poll(100, {"n1"}, fabric_), SizeIs(1));
  EXPECT_THAT(reporter.Poll(200, {"n1"}, fabric_), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "r0p0");
  EXPECT_EQ(reporter.failures(), 2);
}

TEST_F(LinkReporterTest, WhenANicIsMissingAtTheStartNobodyGuessesWhichRailItWas) {
  SetLink("", 1, true);
  LinkReporter reporter = Make();
  const auto errors = reporter.Poll(0, {"n1"}, fabric_);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(MessageOf(errors[0]), HasSubstr("--nic-ports-file"));
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0);
  // Named in a file, it is a port that is down.
  LinkReporter told(
      client_,
      {sysfs_.path(), FolderPerNode::kNo, {{0, 0, "", "mlx5_0", 1}, {1, 0, "", "mlx5_1", 1}}, {}});
  EXPECT_THAT(told.Poll(0, {"n1"}, fabric_), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "r0p0");
}

TEST_F(LinkReporterTest, AHostWithoutNicsOrFabricIsLeftAlone) {
  LinkReporter reporter = Make();
  EXPECT_THAT(reporter.Poll(0, {"n1"}, fabric_), IsEmpty());
  SetLink("", 0, false);
  EXPECT_THAT(reporter.Poll(0, {"n1"}, std::nullopt), IsEmpty());
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0);
}

TEST_F(LinkReporterTest, EveryNodeOfSeveralHasATreeOfItsOwn) {
  SetLink("n2/", 0, true);
  SetLink("n2/", 1, false);
  LinkReporter reporter = Make(FolderPerNode::kYes);
  EXPECT_THAT(reporter.Poll(0, {"n1", "n2"}, fabric_), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "(none)");
  EXPECT_EQ(Annotation("n2"), "r1p0");
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 1);
}

TEST_F(LinkReporterTest, ANodeThatIsRecreatedGetsItsAnnotationBack) {
  SetLink("", 0, true);
  SetLink("", 1, false);
  LinkReporter reporter = Make();
  reporter.Poll(0, {"n1"}, fabric_);
  nlohmann::json node = *client_.Find(kube::Nodes(), "", "n1");
  node["metadata"]["annotations"].erase(kAnnotation);
  client_.Seed(kube::Nodes(), node);
  reporter.Forget("n1");
  reporter.Forget("n2");
  EXPECT_THAT(reporter.Poll(100, {"n1"}, fabric_), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "r1p0");
  reporter.Poll(200, {"n1"}, fabric_);
  EXPECT_EQ(reporter.writes(), 2);
}

constexpr char kLossy[] = "yardmaster.dev/lossy-ports";

// Port 0 of rail 1 has traffic, of which a part arrives damaged.
class LossReporterTest : public LinkReporterTest {
 protected:
  LossReporterTest() {
    SetLink("", 0, true);
    SetLink("", 1, true);
  }
  LinkReporter MakeWith(double share) {
    LossLimits limits;
    limits.share = share;
    return LinkReporter(client_, {sysfs_.path(), FolderPerNode::kNo, {}, {}, limits});
  }
  std::string Lossy() const {
    return (*client_.Find(kube::Nodes(), "", "n1"))["metadata"]["annotations"].value(kLossy,
                                                                                     "(none)");
  }
  void SetLossy(const std::string& text) {
    nlohmann::json node = *client_.Find(kube::Nodes(), "", "n1");
    node["metadata"]["annotations"][kLossy] = text;
    client_.Seed(kube::Nodes(), node);
  }
  // 1000 frames more, with 20 damaged ones or none.
  void Count(bool damaged) {
    received_ += damaged ? 980 : 1'000;
    damaged_ += damaged ? 20 : 0;
    const std::string port = "class/infiniband/mlx5_1/ports/1/";
    sysfs_.Put(port + "link_layer", "InfiniBand\n");
    sysfs_.Put(port + "counters/port_rcv_packets", StrCat(received_, "\n"));
    sysfs_.Put(port + "counters/port_rcv_errors", StrCat(damaged_, "\n"));
  }
  // Polls for so long, with 20 damaged frames of 1000 or none.
  void Run(LinkReporter& reporter, int seconds, bool damaged) {
    for (int i = 0; i < seconds; ++i, now_ms_ += 1'000) {
      Count(damaged);
      EXPECT_THAT(reporter.Poll(now_ms_, {"n1"}, fabric_), IsEmpty());
    }
  }

  std::int64_t now_ms_ = 0;
  int received_ = 0, damaged_ = 0;
};

TEST_F(LossReporterTest, APortThatLosesPacketsIsReportedUntilItIsClean) {
  LinkReporter reporter = MakeWith(1e-4);
  Run(reporter, 60, false);
  EXPECT_EQ(Lossy(), "(none)");
  EXPECT_EQ(reporter.writes(), 1);
  Run(reporter, 35, true);
  EXPECT_EQ(Lossy(), "r1p0=17000");
  EXPECT_EQ(reporter.writes(), 2);
  ASSERT_THAT(reporter.lossy(), SizeIs(1));
  EXPECT_EQ(reporter.lossy()[0].device, "mlx5_1/1");
  EXPECT_EQ(reporter.lossy()[0].per_million, 17'000);
  Run(reporter, 100, false);
  EXPECT_EQ(Lossy(), "r1p0=17000");
  Run(reporter, 40, false);
  EXPECT_EQ(Lossy(), "(none)");
  EXPECT_THAT(reporter.lossy(), IsEmpty());
  EXPECT_EQ(Annotation("n1"), "(none)");
}

TEST_F(LossReporterTest, WhatAnEarlierProcessFoundRemainsUntilThePortIsClean) {
  SetLossy("r1p0=300,garbage,r7p7=1");
  LinkReporter reporter = MakeWith(1e-4);
  Run(reporter, 10, false);
  EXPECT_EQ(Lossy(), "r1p0=300");
  Run(reporter, 130, false);
  EXPECT_EQ(Lossy(), "(none)");
}

TEST_F(LossReporterTest, WithoutALimitNoPortIsReportedAndEarlierReportsAreTakenBack) {
  SetLossy("r1p0=300");
  LinkReporter reporter = MakeWith(0);
  Run(reporter, 60, true);
  EXPECT_EQ(Lossy(), "(none)");
  EXPECT_THAT(reporter.lossy(), IsEmpty());
}

TEST_F(LossReporterTest, ANodeThatIsRecreatedGetsItsLossyPortsBack) {
  LinkReporter reporter = MakeWith(1e-4);
  Run(reporter, 40, true);
  nlohmann::json node = *client_.Find(kube::Nodes(), "", "n1");
  node["metadata"]["annotations"].erase(kLossy);
  client_.Seed(kube::Nodes(), node);
  reporter.Forget("n1");
  Run(reporter, 1, true);
  EXPECT_EQ(Lossy(), "r1p0=20000");
}

// An admission policy of an earlier chart does not know the annotation, or refuses it otherwise.
TEST_F(LossReporterTest, WhereLossyPortsAreRefusedDownPortsAreWrittenAlone) {
  for (const absl::Status& refusal :
       {absl::PermissionDeniedError("not this key"), absl::InvalidArgumentError("not this key")}) {
    bool refuses = true;
    client_.SetHook([&](const kube::Call& call) {
      const bool lossy = call.body.dump().find(kLossy) != std::string::npos;
      return refuses && call.verb == kube::Verb::kPatch && lossy ? refusal : absl::OkStatus();
    });
    SetLink("", 0, true);
    LinkReporter reporter = MakeWith(1e-4);
    int errors = 0;
    const auto run = [&](int seconds) {
      errors = 0;
      client_.ClearCalls();
      for (int i = 0; i < 10 * seconds; ++i, now_ms_ += 100) {
        if (i % 10 == 0) Count(true);
        errors += static_cast<int>(reporter.Poll(now_ms_, {"n1"}, fabric_).size());
      }
    };
    run(40);
    EXPECT_THAT(Lossy(), Not(HasSubstr("r1p0")));
    ASSERT_THAT(reporter.lossy(), SizeIs(1));
    SetLink("", 0, false);
    run(2);
    EXPECT_EQ(Annotation("n1"), "r0p0") << refusal;
    SetLink("", 0, true);
    run(100);
    EXPECT_EQ(Annotation("n1"), "(none)") << refusal;
    EXPECT_EQ(errors, 20);
    EXPECT_LE(client_.CountCalls(kube::Verb::kPatch, "nodes"), 21);
    refuses = false;
    run(6);
    EXPECT_EQ(Lossy(), "r1p0=20000");
    SetLossy("");
  }
}

}  // namespace
}  // namespace yardmaster::agent
