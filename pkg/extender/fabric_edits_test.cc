// Fabrics and Nodes that are edited, renamed or moved while gangs hold hosts.
#include <algorithm>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

// One gang of two, placed and not bound yet.
class FabricEditsTest : public BatchJobFixture {
 protected:
  FabricEditsTest() {
    AddFabric();
    AddBatchJob("a", 2);
    process_.Pass();
    hosts_ = HostsOf("job-a");
    promised_ = Promised();
    EXPECT_EQ(promised_.size(), 2u);
  }
  json FabricNow() { return *client_.Find(kube::Fabrics(), "", "small"); }
  void Edit(const std::function<void(json&)>& how) {
    json fabric = FabricNow();
    how(fabric);
    client_.Seed(kube::Fabrics(), fabric);
  }
  void EditNode(const std::string& name, const std::function<void(json&)>& how) {
    json node = *client_.Find(kube::Nodes(), "", name);
    how(node);
    client_.Seed(kube::Nodes(), node);
  }
  // Node -> value of our taint.
  std::map<std::string, std::string> Promised() {
    std::map<std::string, std::string> out;
    for (const json& node : client_.All(kube::Nodes())) {
      for (const json& taint : node.value("/spec/taints"_json_pointer, json::array())) {
        if (taint["key"] == api::kPromisedKey) out[node["metadata"]["name"]] = taint["value"];
      }
    }
    return out;
  }
  void ExpectAsBefore() {
    process_.Pass();
    process_.Pass();
    EXPECT_EQ(HostsOf("job-a"), hosts_);
    EXPECT_EQ(Promised(), promised_);
    EXPECT_EQ(PodsOf("a").size(), 2u);
  }

  Process process_{*this, true};
  std::vector<std::string> hosts_;
  std::map<std::string, std::string> promised_;
};

TEST_F(FabricEditsTest, LabelsThatNoNodeHasTakeNoHostFromAGang) {
  Edit([](json& fabric) {
    fabric["spec"]["labels"] = {{"segment", "example.com/rack"},
                                {"fabricPod", "example.com/block"}};
  });
  ExpectAsBefore();
  Edit([](json& fabric) { fabric["spec"].erase("labels"); });
  ExpectAsBefore();
  AddBatchJob("b", 4);
  process_.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 4u);
}

TEST_F(FabricEditsTest, AnotherFabricThatComesFirstTakesNoHostFromAGang) {
  json other = FabricNow();
  other["metadata"] = {{"name", "another"}};
  other["spec"]["labels"] = {{"segment", "example.com/rack"}, {"fabricPod", "example.com/block"}};
  client_.Seed(kube::Fabrics(), other);
  ExpectAsBefore();
  ASSERT_TRUE(client_.Delete({kube::Fabrics(), "", "another", ""}, {}).ok());
  ExpectAsBefore();
}

TEST_F(FabricEditsTest, AFabricThatIsRenamedTakesNoHostFromAGang) {
  json renamed = FabricNow();
  ASSERT_TRUE(client_.Delete({kube::Fabrics(), "", "small", ""}, {}).ok());
  ExpectAsBefore();
  renamed["metadata"] = {{"name", "large"}};
  client_.Seed(kube::Fabrics(), renamed);
  ExpectAsBefore();
}

TEST_F(FabricEditsTest, ADevicePluginThatRestartsTakesNoHostFromAGang) {
  for (const char* gpus : {"0", "", "8"}) {
    EditNode(hosts_[0], [&](json& node) {
      node["status"]["allocatable"] = json::object();
      if (*gpus != 0) node["status"]["allocatable"][api::kGpuResource] = gpus;
    });
    ExpectAsBefore();
  }
}

TEST_F(FabricEditsTest, ANodeThatMovesToAnotherSegmentOrLosesItsLabelsStaysTheGangs) {
  const std::string segment = hosts_[0][1] == '0' ? "s1" : "s0";
  EditNode(hosts_[0],
           [&](json& node) { node["metadata"]["labels"][api::kSegmentLabel] = segment; });
  EditNode(hosts_[1], [](json& node) { node["metadata"].erase("labels"); });
  ExpectAsBefore();
  AddBatchJob("b", 4);
  process_.Pass();
  for (const std::string& host : HostsOf("job-b")) {
    EXPECT_EQ(std::count(hosts_.begin(), hosts_.end(), host), 0) << host;
  }
}

}  // namespace
}  // namespace yardmaster::extender
