#include "pkg/state/guessed_places.h"

#include <map>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Labels = std::map<std::string, std::string>;

void Put(Nodes& nodes, const std::string& name, Labels labels, int gpus = 8) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels = std::move(labels);
  if (gpus > 0) workload::SetAmount(node.allocatable, api::kGpuResource, gpus);
  nodes.Put(std::make_shared<const api::Node>(std::move(node)));
}

std::string LabelOf(const Nodes& nodes, const std::string& name, const std::string& key) {
  const auto& labels = nodes.Find({"", name})->metadata.labels;
  const auto at = labels.find(key);
  return at == labels.end() ? "" : at->second;
}

TEST(GuessedPlacesTest, LabelsOfEveryKnownSourceSayWhereHostsStand) {
  const struct {
    const char* source;
    const char* fabric_pod;
    const char* segment;
  } cases[] = {
      {"topograph", "fabric.topograph.run/tier-1", "fabric.topograph.run/tier-0"},
      {"topograph", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"},
      {"EKS", "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3"},
      {"GKE", "cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"},
      {"OKE", "oci.oraclecloud.com/rdma.network_block_id",
       "oci.oraclecloud.com/rdma.local_block_id"},
      {"CoreWeave", "backend.coreweave.cloud/superpod", "backend.coreweave.cloud/leafgroup"}};
  for (const auto& [source, fabric_pod, segment] : cases) {
    Nodes nodes;
    Put(nodes, "a", {{fabric_pod, "p"}, {segment, "x"}});
    Put(nodes, "b", {{fabric_pod, "p"}, {segment, "y"}});
    Put(nodes, "cpu", {{segment, "x"}}, 0);
    const GuessedPlaces guessed = WithGuessedPlaces(nodes);
    EXPECT_EQ(LabelOf(guessed.nodes, "a", "yardmaster.dev/fabric-pod"), "p") << segment;
    EXPECT_EQ(LabelOf(guessed.nodes, "a", "yardmaster.dev/segment"), "x") << segment;
    EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/segment"), "y") << segment;
    EXPECT_EQ(LabelOf(guessed.nodes, "cpu", "yardmaster.dev/segment"), "");
    EXPECT_THAT(guessed.notes,
                ElementsAre(StrCat("guessed from labels of ", source, ": segment by ", segment,
                                   " (2), fabric pod by ", fabric_pod, " (1), 2 hosts")));
  }
}

TEST(GuessedPlacesTest, OnInstanceTypesWithFourLayersTheFourthIsTheSegment) {
  Nodes nodes;
  Put(nodes, "a",
      {{"topology.k8s.aws/network-node-layer-2", "l2"},
       {"topology.k8s.aws/network-node-layer-3", "l3"},
       {"topology.k8s.aws/network-node-layer-4", "l4"}});
  EXPECT_EQ(GuessPlaceLabels(nodes).segment, "topology.k8s.aws/network-node-layer-4");
  EXPECT_EQ(GuessPlaceLabels(nodes).fabric_pod, "topology.k8s.aws/network-node-layer-3");
  // Where only some have it, what all have counts.
  Put(nodes, "b", {{"topology.k8s.aws/network-node-layer-3", "l3"}});
  EXPECT_EQ(GuessPlaceLabels(nodes).segment, "topology.k8s.aws/network-node-layer-3");
}

TEST(GuessedPlacesTest, CliquesAreDomains) {
  Nodes nodes;
  Put(nodes, "a", {{"nvidia.com/gpu.clique", "u.0"}});
  Put(nodes, "b", {{"nvidia.com/gpu.clique", "u.1"}});
  const GuessedPlaces guessed = WithGuessedPlaces(nodes);
  EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/domain"), "u.1");
  EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/segment"), "all");
  ASSERT_EQ(guessed.notes.size(), 2u);
  EXPECT_THAT(guessed.notes[0], HasSubstr("no label states where hosts stand, so the 2 Nodes"));
  EXPECT_EQ(guessed.notes[1], "guessed domains: hosts that share nvidia.com/gpu.clique (2)");
}

TEST(GuessedPlacesTest, OurOwnLabelsAreNoGuess) {
  Nodes nodes;
  Put(nodes, "a",
      {{"yardmaster.dev/fabric-pod", "p"},
       {"yardmaster.dev/segment", "s"},
       {"fabric.topograph.run/tier-0", "x"}});
  Put(nodes, "b", {});
  const GuessedPlaces guessed = WithGuessedPlaces(nodes);
  EXPECT_THAT(guessed.notes, IsEmpty());
  EXPECT_EQ(LabelOf(guessed.nodes, "a", "yardmaster.dev/segment"), "s");
  EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/segment"), "") << "a warning names it";
}

TEST(GuessedPlacesTest, ANodeWithOurOwnLabelsKeepsThem) {
  Nodes nodes;
  const char* pod = "fabric.topograph.run/tier-1";
  const char* segment = "fabric.topograph.run/tier-0";
  Put(nodes, "a", {{pod, "p"}, {segment, "x"}});
  Put(nodes, "b",
      {{pod, "p"},
       {segment, "x"},
       {"yardmaster.dev/fabric-pod", "ours"},
       {"yardmaster.dev/segment", "corrected"}});
  const GuessedPlaces guessed = WithGuessedPlaces(nodes);
  EXPECT_EQ(LabelOf(guessed.nodes, "a", "yardmaster.dev/segment"), "x");
  EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/segment"), "corrected");
  EXPECT_EQ(LabelOf(guessed.nodes, "b", "yardmaster.dev/fabric-pod"), "ours");
}

TEST(GuessedPlacesTest, WithoutGpusNothingIsGuessed) {
  Nodes nodes;
  Put(nodes, "a", {{"fabric.topograph.run/tier-0", "x"}}, 0);
  EXPECT_THAT(WithGuessedPlaces(nodes).notes, IsEmpty());
  EXPECT_THAT(WithGuessedPlaces(Nodes()).notes, IsEmpty());
}

}  // namespace
}  // namespace yardmaster::state
