#include "pkg/extender/steps/host_taints.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"
#include "pkg/extender/webhook/decisions.h"
#include "pkg/state/testing/cluster_history.h"

namespace yardmaster::extender {
namespace {

class HostTaintsTest : public PlannerFixture {
 protected:
  json TaintsOf(const std::string& node) {
    const json object = *client_.Find(kube::Nodes(), "", node);
    return object.value("/spec/taints"_json_pointer, json::array());
  }
  // Node -> value of our taint.
  std::map<std::string, std::string> Promised() {
    std::map<std::string, std::string> out;
    for (const json& node : client_.All(kube::Nodes())) {
      const std::string name = node["metadata"]["name"];
      for (const json& taint : TaintsOf(name)) {
        if (taint["key"] != api::kPromisedKey) continue;
        EXPECT_EQ(taint["effect"], "NoSchedule") << "nothing that runs is evicted";
        out[name] = taint["value"];
      }
    }
    return out;
  }
};

TEST_F(HostTaintsTest, HostsOfACommittedGangCarryTheTaintUntilItIsGone) {
  AddJob("a", 2);
  PassOfANewProcess();
  std::map<std::string, std::string> expected;
  for (const json& slot : Slots("a")) expected[slot["host"]] = "team.trainingjob-a";
  EXPECT_EQ(expected.size(), 2u);
  EXPECT_EQ(Promised(), expected);
  client_.ClearCalls();
  PassOfANewProcess();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0) << "nothing is left to do";
  Finish("a");
  PassOfANewProcess();
  PassOfANewProcess();
  EXPECT_TRUE(Promised().empty());
}

TEST_F(HostTaintsTest, WithATimeLimitAGangThatStartsInTimeCostsNoWriteOfANode) {
  planner_options_.taints.unbound_after_ms = 30'000;
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "nodes"), 0);
  EXPECT_TRUE(Promised().empty());
}

TEST_F(HostTaintsTest, WithATimeLimitOnlyHostsWhosePodIsNotBoundByThenAreTaintedUntilItIs) {
  planner_options_.taints.unbound_after_ms = 30'000;
  AddJob("a", 2);
  Process process(*this, true);
  const PassReport report = process.Pass();
  EXPECT_TRUE(Promised().empty());
  EXPECT_LE(report.wake_in_ms, 30'000);
  json pod = *client_.Find(kube::Pods(), "team", "a-0");
  pod["spec"]["nodeName"] = PinnedTo(pod);
  client_.Seed(kube::Pods(), pod);
  clock_.Advance(30'000);
  process.Pass();
  const std::string waits = Slots("a")[1]["host"];
  EXPECT_EQ(Promised(), (std::map<std::string, std::string>{{waits, "team.trainingjob-a"}}));
  RunReleasedPods();
  process.Pass();
  EXPECT_TRUE(Promised().empty());
  // A rank whose pod is lost leaves its host without one: the taint comes at once.
  DeletePod("a-0");
  process.Pass();
  const std::string left = Slots("a")[0]["host"];
  EXPECT_EQ(Promised().count(left), 1u);
}

TEST_F(HostTaintsTest, ADeletedGangLeavesNoTaint) {
  AddJob("a", 2);
  PassOfANewProcess();
  for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
  PassOfANewProcess();
  EXPECT_TRUE(Promised().empty());
}

TEST_F(HostTaintsTest, HostsOfAGangInQuarantineKeepTheirTaint) {
  for (const std::int64_t after_ms : {0, 30'000}) {
    planner_options_.taints.unbound_after_ms = after_ms;
    AddJob("a", 2);
    Process process(*this, true);
    process.Pass();
    clock_.Advance(60'000);
    process.Pass();
    const auto before = Promised();
    ASSERT_EQ(before.size(), 2u);
    json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-a");
    gang["status"]["assignments"][0]["rank"] = 3;
    client_.Seed(kube::Gangs(), gang);
    ASSERT_EQ(process.Pass().isolated, 1);
    EXPECT_EQ(Promised(), before);
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
    for (const json& pod : client_.All(kube::Pods())) DeletePod(pod["metadata"]["name"]);
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  }
}

TEST_F(HostTaintsTest, TheTaintFollowsARankThatMovesAndTheHostItLeftIsPlaceableAgain) {
  AddJob("a", 3);
  PassOfANewProcess();
  const std::string lost = Slots("a")[1]["host"];
  AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
  DeletePod("a-1");
  AddPod("a", 1);
  PassOfANewProcess();
  const std::string now = Slots("a")[1]["host"];
  EXPECT_EQ(Promised().count(lost), 0u);
  EXPECT_EQ(Promised().count(now), 1u) << "a backup host has both taints";
}

TEST_F(HostTaintsTest, TaintsOfOthersStay) {
  json node = *client_.Find(kube::Nodes(), "", NodeName(0, 0));
  const json other = {{"key", "x"}, {"value", "y"}, {"effect", "PreferNoSchedule"}};
  node["spec"]["taints"] = json::array({other});
  client_.Seed(kube::Nodes(), node);
  AddJob("a", 6);
  PassOfANewProcess();
  EXPECT_EQ(Promised().size(), 6u);
  EXPECT_EQ(TaintsOf(NodeName(0, 0))[0], other);
  Finish("a");
  PassOfANewProcess();
  EXPECT_EQ(TaintsOf(NodeName(0, 0)), json::array({other}));
}

TEST_F(HostTaintsTest, ANodeThatChangedSinceItWasSeenIsLeftToTheNextPass) {
  AddJob("a", 1);
  bool changed = false;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.verb == kube::Verb::kPatch && call.target.resource == kube::Nodes() && !changed) {
      changed = true;
      json node = *client_.Find(kube::Nodes(), "", call.target.name);
      node["spec"]["taints"] = json::array({{{"key", "new"}, {"effect", "NoSchedule"}}});
      client_.Seed(kube::Nodes(), node);
    }
    return absl::OkStatus();
  });
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(report.more_to_do);
  EXPECT_EQ(report.errors, std::vector<std::string>());
  EXPECT_TRUE(Promised().empty());
  const std::string host = Slots("a")[0]["host"];
  EXPECT_EQ(TaintsOf(host).size(), 1u) << "a new taint of others was not written over";
  PassOfANewProcess();
  EXPECT_EQ(TaintsOf(host).size(), 2u);
}

TEST_F(HostTaintsTest, AFollowerTaintsNothing) {
  AddJob("a", 2);
  PassOfANewProcess();
  const auto before = Promised();
  Finish("a");
  PassOfANewProcess(/*leader=*/false);
  EXPECT_EQ(Promised(), before);
}

// Hosts that another controller chose, which may take a taint for a failure of the Node.
class ObservedHostTaintsTest : public HostTaintsTest {
 protected:
  void AddJobOn(const std::string& job, const std::string& host, int gpus = 8) {
    AddJob(job, 1, "{}",
           {{"gpusPerWorker", gpus}, {"parallelism", {{"tensor", gpus}, {"data", 1}}}});
    json pod = *client_.Find(kube::Pods(), "team", job + "-0");
    pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", host}};
    pod["spec"]["containers"][0]["resources"]["limits"][api::kGpuResource] = StrCat(gpus);
    client_.Seed(kube::Pods(), pod);
  }
  NodeVerdict VerdictOnOthers(const std::string& host) {
    return CheckNode(*view_, {std::nullopt, -1, 8}, host);
  }
  const std::string host_ = NodeName(1, 0);
};

TEST_F(ObservedHostTaintsTest, HaveNoTaintFromTheFirstPassUntilTheGangIsGone) {
  for (const std::int64_t after_ms : {0, 30'000}) {
    planner_options_.taints.unbound_after_ms = after_ms;
    AddJobOn("a", host_);
    Process process(*this, true);
    for (int i = 0; i < 3; ++i) {
      process.Pass();
      ASSERT_EQ(Slots("a")[0]["host"], host_);
      EXPECT_TRUE(TaintsOf(host_).empty());
      EXPECT_EQ(VerdictOnOthers(host_), NodeVerdict::kNoGpusLeft) << "filter keeps the promise";
      clock_.Advance(20'000);
    }
    DeletePod("a-0");
    process.Pass();
    ASSERT_TRUE(Placed("a")) << "its pod may be made again";
    EXPECT_TRUE(TaintsOf(host_).empty());
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "trainingjob-a", ""}, {}).ok());
  }
}

TEST_F(ObservedHostTaintsTest, OfWhichAGangOfOursHasTheRestHaveNone) {
  AddJobOn("a", host_, 4);
  Process process(*this, true);
  process.Pass();
  const json half = {{"gpusPerWorker", 4}, {"parallelism", {{"tensor", 4}, {"data", 1}}}};
  AddJob("b", 1, "{}", half);
  process.Pass();
  ASSERT_EQ(Slots("b")[0]["host"], host_) << "the tightest place";
  EXPECT_TRUE(TaintsOf(host_).empty());
  AddJob("c", 1);
  process.Pass();
  EXPECT_EQ(Promised().size(), 1u) << "hosts of our own choice have theirs";
}

TEST_F(ObservedHostTaintsTest, HaveNoneWhileTheGangIsInQuarantine) {
  AddJobOn("a", host_);
  Process process(*this, true);
  process.Pass();
  json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-a");
  gang["status"]["reasons"] = "x";
  client_.Seed(kube::Gangs(), gang);
  ASSERT_EQ(process.Pass().isolated, 1);
  EXPECT_TRUE(TaintsOf(host_).empty());
}

// Pure cases: what is shared, and what is taken back.
plan::JobState JobOn(const std::string& name, int gpus, std::vector<fabric::HostId> hosts) {
  plan::JobState state;
  state.job.key = {"team", name};
  state.job.gpus_per_worker = gpus;
  state.job.workers = static_cast<int>(hosts.size());
  state.assignment = plan::Assignment{std::move(hosts)};
  return state;
}

class PureTaintsTest : public ::testing::Test {
 protected:
  PureTaintsTest() {
    std::vector<fabric::HostPlace> hosts(3);
    for (int h = 0; h < 3; ++h) {
      hosts[static_cast<std::size_t>(h)].name = StrCat("h", h);
      hosts[static_cast<std::size_t>(h)].fabric_pod = "p";
      hosts[static_cast<std::size_t>(h)].segment = "s";
    }
    auto places = fabric::Places::Build(hosts);
    snapshot_.places = std::make_shared<const fabric::Places>(*places);
    snapshot_.cluster.places = snapshot_.places;
    snapshot_.cluster.hosts.resize(3);
    for (const char* name : {"h0", "h1", "h2"}) {
      auto node = std::make_shared<api::Node>();
      node->metadata.name = name;
      node->metadata.resource_version = "7";
      cluster_.nodes.Put(node);
    }
  }
  // Node -> value written by its patch; "-" for a removal.
  std::map<std::string, std::string> Changes(bool wanted = true) {
    std::map<std::string, std::string> out;
    for (const TaintChange& change : HostTaints().Changes(snapshot_, cluster_, wanted).changes) {
      const json& op = change.patch[1];
      EXPECT_EQ(change.patch[0]["value"], "7");
      const json value = op.value("value", json("-"));
      out[change.node] =
          value.is_array() ? value[0]["value"].get<std::string>() : value.get<std::string>();
    }
    return out;
  }
  plan::Snapshot snapshot_;
  state::ClusterState cluster_;
};

TEST_F(PureTaintsTest, AHostWithFreeGpusHasNoTaintAndOneFullOfSeveralGangsSaysSo) {
  snapshot_.jobs = {JobOn("a", 4, {fabric::HostId(0), fabric::HostId(1)}),
                    JobOn("b", 4, {fabric::HostId(1)}),
                    JobOn("c", 4, {fabric::HostId(2), fabric::HostId(2)})};
  EXPECT_EQ(Changes(), (std::map<std::string, std::string>{{"h1", "several"}, {"h2", "team.c"}}));
}

TEST_F(PureTaintsTest, SwitchedOffEveryTaintOfOursGoes) {
  snapshot_.jobs = {JobOn("a", 8, {fabric::HostId(0)})};
  auto tainted = std::make_shared<api::Node>(*cluster_.nodes.Find({"", "h0"}));
  tainted->taints = {{"x", "", api::TaintEffect::kNoSchedule},
                     {api::kPromisedKey, "team.a", api::TaintEffect::kNoSchedule}};
  cluster_.nodes.Put(tainted);
  EXPECT_TRUE(Changes().empty());
  const auto changes = HostTaints().Changes(snapshot_, cluster_, false).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].patch[1]["op"], "remove");
  EXPECT_EQ(changes[0].patch[1]["path"], "/spec/taints/1");
}

TEST_F(PureTaintsTest, ATaintOfOursWithoutAValueGetsItsValue) {
  snapshot_.jobs = {JobOn("a", 8, {fabric::HostId(0)})};
  auto tainted = std::make_shared<api::Node>(*cluster_.nodes.Find({"", "h0"}));
  tainted->taints = {{api::kPromisedKey, "", api::TaintEffect::kNoSchedule}};
  cluster_.nodes.Put(tainted);
  const auto changes = HostTaints().Changes(snapshot_, cluster_, true).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].patch[1]["op"], "add") << "replace fails on a taint without a value";
  EXPECT_EQ(changes[0].patch[1]["path"], "/spec/taints/0/value");
  EXPECT_EQ(changes[0].patch[1]["value"], "team.a");
}

TEST_F(PureTaintsTest, BackupHostsThatThePolicyChoseAreTaintedAndMarkedOnesAreNotTouched) {
  snapshot_.cluster.hosts[0].backup = snapshot_.cluster.hosts[1].backup = true;
  auto marked = std::make_shared<api::Node>(*cluster_.nodes.Find({"", "h1"}));
  marked->taints = {{api::kBackupKey, "true", api::TaintEffect::kNoSchedule}};
  cluster_.nodes.Put(marked);
  auto before = std::make_shared<api::Node>(*cluster_.nodes.Find({"", "h2"}));
  before->taints = {{api::kBackupKey, api::kChosenBackupValue, api::TaintEffect::kNoSchedule},
                    {api::kPromisedKey, "team.x", api::TaintEffect::kNoSchedule}};
  cluster_.nodes.Put(before);
  EXPECT_FALSE(before->backup()) << "our own taint marks nothing";
  const auto changes = HostTaints().Changes(snapshot_, cluster_, true).changes;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].node, "h0");
  EXPECT_EQ(changes[0].patch[1]["value"][0]["value"], api::kChosenBackupValue);
  EXPECT_EQ(changes[1].node, "h2");
  EXPECT_EQ(changes[1].patch[1]["path"], "/spec/taints/1") << "from the end";
  EXPECT_EQ(changes[1].patch[2]["path"], "/spec/taints/0");
}

TEST_F(PureTaintsTest, AHostHasTheTaintsThatItNeeds) {
  snapshot_.jobs = {JobOn("a", 8, {fabric::HostId(0), fabric::HostId(1), fabric::HostId(2)})};
  for (placement::HostState& host : snapshot_.cluster.hosts) host.backup = true;
  const TaintNeeds needs = {TaintNeed::kBoth, TaintNeed::kBackup, TaintNeed::kNone};
  const TaintChanges found = HostTaints().Changes(snapshot_, cluster_, true, &needs);
  ASSERT_EQ(found.changes.size(), 2u);
  EXPECT_EQ(found.promised, 1);
  EXPECT_EQ(found.changes[0].patch.size(), 3u) << "both";
  ASSERT_EQ(found.changes[1].node, "h1");
  EXPECT_EQ(found.changes[1].patch[1]["value"][0]["key"], api::kBackupKey);
}

TEST_F(PureTaintsTest, TheValueIsALabelValueWhateverTheNames) {
  const std::string name = std::string(61, 'n') + "-" + std::string(180, 'x');
  snapshot_.jobs = {JobOn(name.substr(0, 57) + "-" + name, 8, {fabric::HostId(0)})};
  const std::string value = Changes()["h0"];
  EXPECT_LE(value.size(), 63u);
  EXPECT_NE(value.back(), '-');
}

// The Nodes after the patches.
state::ClusterState Mended(state::ClusterState cluster, const TaintChanges& taints) {
  for (const TaintChange& change : taints.changes) {
    json node = api::EncodeNode(*cluster.nodes.Find({"", change.node}));
    if (!node.contains("spec")) node["spec"] = json::object();
    for (json& taint : node["spec"]["taints"]) taint.emplace("value", "");
    if (node["spec"]["taints"].is_null()) node["spec"].erase("taints");
    json patch = change.patch;
    patch.erase(0);  // the test of a resource version, which these Nodes do not have
    cluster.nodes.Put(std::make_shared<const api::Node>(*api::DecodeNode(node.patch(patch))));
  }
  return cluster;
}

TEST(HostTaintsHistoryTest, AfterAnyHistoryTheChangesAreThoseOfAComparisonOfAllNodes) {
  int quiet = 0, few = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    state::ClusterHistory history(seed);
    state::SnapshotBuilder builder;
    HostTaints kept;
    for (int step = 0; step < 60; ++step) {
      for (unsigned i = history.Below(step == 0 ? 60 : 3); i > 0; --i) history.Step();
      const bool wanted = history.Below(20) != 0;
      const plan::Snapshot snapshot = builder.Build(history.cluster());
      TaintNeeds needs(snapshot.cluster.hosts.size(), TaintNeed::kBoth);
      if (!needs.empty() && history.Below(4) == 0) needs[step % needs.size()] = TaintNeed::kNone;
      const TaintChanges found = kept.Changes(snapshot, history.cluster(), wanted, &needs);
      const TaintChanges all = HostTaints().Changes(snapshot, history.cluster(), wanted, &needs);
      ASSERT_EQ(found.promised, all.promised);
      ASSERT_EQ(found.changes.size(), all.changes.size());
      for (std::size_t c = 0; c < all.changes.size(); ++c) {
        ASSERT_EQ(found.changes[c].node, all.changes[c].node);
        ASSERT_EQ(found.changes[c].patch, all.changes[c].patch);
      }
      quiet += found.changes.empty() && found.promised > 0;
      few += found.changes.size() == 1;
      if (history.Below(5) != 0) history.JumpTo(Mended(history.cluster(), found));
    }
  }
  EXPECT_GT(quiet, 100);
  EXPECT_GT(few, 100);
}

}  // namespace
}  // namespace yardmaster::extender
