// Domains on a real control plane: a tensor group stands in one, a lost host of it is replaced
// there, and when the whole domain is lost the group leaves it together.
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

// The ordinary hosts of each segment are four domains of three hosts.
class DomainStoryTest : public StoryTest {
 protected:
  static constexpr char kLabel[] = "yardmaster.dev/domain";
  static constexpr char kNotReady[] = "node-not-ready.stage.kwok.x-k8s.io";

  void SetUp() override {
    for (int domain = 0; domain < 8; ++domain) {
      std::vector<std::string> command = {"label", "node"};
      for (int h = domain % 4 * 3; h < domain % 4 * 3 + 3; ++h) {
        command.push_back(StrCat("p00s0", domain / 4, "h0", h < 10 ? "0" : "", h));
      }
      command.push_back(StrCat(kLabel, "=d", domain));
      const auto labelled = cluster_->plane().Kubectl(command);
      ASSERT_TRUE(labelled.ok()) << labelled.status();
    }
  }
  void TearDown() override {
    StoryTest::TearDown();
    ASSERT_TRUE(
        cluster_->plane()
            .Kubectl({"label", "node", "--all", StrCat(kNotReady, "-"), StrCat(kLabel, "-")})
            .ok());
  }
  static bool Runs(const std::string& job) {
    const auto waited = cluster_->plane().Kubectl(
        {"wait", "trainingjob/" + job, "-n", "team", "--for=condition=Running", "--timeout=60s"});
    EXPECT_TRUE(waited.ok()) << waited.status() << "\n" << Job(job).dump(1);
    return waited.ok();
  }
  // By rank; empty until the job has its place.
  static std::vector<std::string> Slots(const std::string& job, const std::string& field) {
    std::vector<std::string> out;
    const json gang = Gang(job);
    if (!gang.is_object()) return out;
    for (const json& slot : gang.value("/status/assignments"_json_pointer, json::array())) {
      out.push_back(slot.value(field, std::string()));
    }
    return out;
  }
};

TEST_F(DomainStoryTest, ATensorGroupStandsInADomainAndALostHostIsReplacedThere) {
  const std::string spec = R"("parallelism": {"tensor": 16, "data": 2})";
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("t", 4, spec)).ok());
  ASSERT_TRUE(Runs("t"));
  const std::vector<std::string> domains = Slots("t", "domain");
  const std::vector<std::string> hosts = Slots("t", "host");
  ASSERT_EQ(domains.size(), 4U);
  EXPECT_FALSE(domains[0].empty());
  EXPECT_EQ(domains[0], domains[1]);
  EXPECT_EQ(domains[2], domains[3]);
  ASSERT_TRUE(
      cluster_->plane().Kubectl({"label", "node", hosts[1], StrCat(kNotReady, "=true")}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::vector<std::string> now = Slots("t", "host");
    return now.size() == 4 && now[1] != hosts[1] && ConditionOf(Job("t"), "Running") == "True" &&
           ConditionOf(Job("t"), "Recovering") == "False";
  })) << Job("t").dump(1);
  EXPECT_EQ(Slots("t", "domain"), domains) << "one host of the domain was free";
  CheckPromises();
}

TEST_F(DomainStoryTest, WhenADomainIsLostItsGroupMovesToAnother) {
  const std::string spec = R"("parallelism": {"tensor": 16})";
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("l", 2, spec)).ok());
  // The hosts of the domain go one after the other, and are to be lost together.
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"patch", "trainingjob", "l", "-n", "team", "--type=merge", "-p",
                            R"({"spec": {"recovery": {"hostGraceSeconds": 10}}})"})
                  .ok());
  ASSERT_TRUE(Runs("l"));
  const std::vector<std::string> before = Slots("l", "domain");
  ASSERT_EQ(before.size(), 2U);
  ASSERT_EQ(before[0], before[1]);
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"label", "node", "-l", StrCat(kLabel, "=", before[0]),
                            StrCat(kNotReady, "=true")})
                  .ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const std::vector<std::string> now = Slots("l", "domain");
    return now.size() == 2 && now[0] != before[0] && now[0] == now[1] &&
           ConditionOf(Job("l"), "Running") == "True";
  })) << Job("l").dump(1);
  const json incident = Job("l")["status"]["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "DomainLost") << incident.dump(1);
  const auto fabric = [] { return cluster_->Get({"fabrics"})["items"][0]; };
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(fabric(), "DomainsUp") == "False"; }))
      << fabric().dump(1);
  CheckPromises();
  ASSERT_TRUE(cluster_->plane().Kubectl({"label", "node", "--all", StrCat(kNotReady, "-")}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(fabric(), "DomainsUp") == "True"; }))
      << fabric().dump(1);
}

}  // namespace
}  // namespace yardmaster::testing
