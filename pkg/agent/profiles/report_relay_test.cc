#include "pkg/agent/profiles/report_relay.h"

#include <filesystem>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/api/annotation.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReportRelayTest : public ::testing::Test {
 protected:
  ReportRelayTest() {
    client_.Seed(kube::Nodes(),
                 {{"apiVersion", "v1"},
                  {"kind", "Node"},
                  {"metadata",
                   {{"name", "n1"}, {"annotations", {{api::kObservedPathsAnnotation, "mine"}}}}}});
  }
  ReportRelay Make(const std::string& balancing = "") {
    return ReportRelay(client_, {folder_.path(), FolderPerNode::kNo, balancing, 10'000});
  }
  std::string Annotation(const char* key) const {
    const auto object = client_.Find(kube::Nodes(), "", "n1");
    return (*object)["metadata"]["annotations"].value(key, "(none)");
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  TempFolder folder_;
};

TEST_F(ReportRelayTest, FilesBecomeAnnotationsAndGoWithThemAndOthersAreLeftAlone) {
  ReportRelay relay = Make();
  EXPECT_THAT(relay.Poll(0, {"n1"}), IsEmpty());
  EXPECT_EQ(relay.writes(), 0);
  folder_.Put("neighbours.json", "{\"neighbours\": []}\n");
  EXPECT_THAT(relay.Poll(500, {"n1"}), IsEmpty());
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), R"({"neighbours":[]})");
  EXPECT_EQ(Annotation(api::kObservedPathsAnnotation), "mine");
  EXPECT_THAT(relay.Poll(20'000, {"n1"}), IsEmpty());
  EXPECT_EQ(relay.writes(), 1);
  std::filesystem::remove(folder_.path() + "/neighbours.json");
  EXPECT_THAT(relay.Poll(40'000, {"n1"}), IsEmpty());
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), "(none)");
}

TEST_F(ReportRelayTest, ANodeThatIsRecreatedGetsItsAnnotationsBackAtOnce) {
  folder_.Put("neighbours.json", "{\"neighbours\": []}\n");
  ReportRelay relay = Make("none");
  relay.Poll(0, {"n1"});
  client_.Seed(kube::Nodes(),
               {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}});
  relay.Forget("n1");
  relay.Forget("n2");
  EXPECT_THAT(relay.Poll(500, {"n1"}), IsEmpty());
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), R"({"neighbours":[]})");
  EXPECT_EQ(Annotation(api::kNicLoadBalancingAnnotation), "none");
  relay.Poll(20'000, {"n1"});
  EXPECT_EQ(relay.writes(), 2);
}

TEST_F(ReportRelayTest, NeighboursThatTheAgentReadsGiveWayToAFile) {
  std::optional<std::string> read;
  ReportRelay relay(client_,
                    {folder_.path(), FolderPerNode::kNo, "", 10'000, [&] { return read; }});
  relay.Poll(0, {"n1"});
  EXPECT_EQ(relay.writes(), 0);
  read = R"({"neighbours":[1]})";
  relay.Poll(500, {"n1"});
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), *read);
  folder_.Put("neighbours.json", R"({"neighbours":[2]})");
  relay.Poll(20'000, {"n1"});
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), R"({"neighbours":[2]})");
  std::filesystem::remove(folder_.path() + "/neighbours.json");
  relay.Poll(40'000, {"n1"});
  EXPECT_EQ(Annotation(api::kNeighboursAnnotation), *read);
}

TEST_F(ReportRelayTest, ANodeIsNotWrittenToMoreOftenThanAllowed) {
  ReportRelay relay = Make();
  folder_.Put("neighbours.json", R"({"neighbours":[]})");
  relay.Poll(0, {"n1"});
  folder_.Put("neighbours.json", R"({"neighbours":[{"local":"a","remote":"b"}]})");
  relay.Poll(9'999, {"n1"});
  EXPECT_EQ(relay.writes(), 1);
  relay.Poll(10'000, {"n1"});
  EXPECT_EQ(relay.writes(), 2);
}

TEST_F(ReportRelayTest, GarbageIsToldAndWhatStoodBeforeStays) {
  ReportRelay relay = Make();
  folder_.Put("neighbours.json", R"({"neighbours":[]})");
  relay.Poll(0, {"n1"});
  for (const std::string& garbage :
       {std::string("{"), std::string("[1]"), std::string("\xff\xfe"), std::string(),
        StrCat("{\"x\":\"", std::string(api::kMaxAnnotationBytes, 'y'), "\"}")}) {
    folder_.Put("neighbours.json", garbage);
    EXPECT_THAT(relay.Poll(20'000, {"n1"}), SizeIs(1));
    EXPECT_EQ(Annotation(api::kNeighboursAnnotation), R"({"neighbours":[]})");
  }
  EXPECT_EQ(relay.writes(), 1);
}

TEST_F(ReportRelayTest, HowNicsBalanceIsWrittenOnceAndAFailedWriteAgain) {
  ReportRelay relay = Make("spectrum-x");
  client_.FailNext(kube::Verb::kPatch, "nodes", absl::UnavailableError("gone"), 1);
  EXPECT_THAT(relay.Poll(0, {"n1"}), SizeIs(1));
  EXPECT_THAT(relay.Poll(10'000, {"n1"}), IsEmpty());
  EXPECT_EQ(Annotation(api::kNicLoadBalancingAnnotation), "spectrum-x");
  relay.Poll(30'000, {"n1"});
  EXPECT_EQ(relay.writes(), 1);
}

}  // namespace
}  // namespace yardmaster::agent
