#include "pkg/page/testing/clusters.h"

#include <memory>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::page {

namespace {

std::string Two(int number) { return StrCat(number < 10 ? "0" : "", number); }

void PutNode(state::ClusterState& cluster, const std::string& name, const std::string& pod,
             const std::string& segment, bool backup) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels = {{api::kFabricPodLabel, pod}, {api::kSegmentLabel, segment}};
  if (backup) node.metadata.labels[api::kBackupKey] = "true";
  workload::SetAmount(node.allocatable, api::kGpuResource, 8);
  node.ready = true;
  Put(cluster, node);
}

void PutFabric(state::ClusterState& cluster, const fabric::FabricSpec& spec) {
  api::Fabric fabric;
  fabric.metadata.name = "f";
  fabric.spec = spec;
  fabric.spec.name = "f";
  cluster.fabrics.Put(std::make_shared<const api::Fabric>(fabric));
}

}  // namespace

state::ClusterState TwoSegments() {
  state::ClusterState cluster;
  PutFabric(cluster, fabric::SmallHpn(1, 2, 4));
  for (const char* segment : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) PutNode(cluster, StrCat(segment, i), "p", segment, i == 3);
  }
  return cluster;
}

state::ClusterState LargeCluster(int fabric_pods, int segments, int hosts_per_segment) {
  state::ClusterState cluster;
  PutFabric(cluster, fabric::SmallHpn(fabric_pods, segments, hosts_per_segment));
  for (int p = 0; p < fabric_pods; ++p) {
    for (int s = 0; s < segments; ++s) {
      for (int h = 0; h < hosts_per_segment; ++h) {
        const std::string pod = StrCat("p", Two(p));
        const std::string segment = StrCat(pod, "s", Two(s));
        PutNode(cluster, StrCat(segment, "h", h < 100 ? "0" : "", Two(h)), pod, segment, false);
      }
    }
  }
  return cluster;
}

api::Gang GangOn(const std::string& job, const std::vector<std::string>& hosts) {
  api::Gang gang;
  gang.metadata.name = api::GangName(api::kTrainingJobKind, job);
  gang.metadata.namespace_name = "demo";
  gang.metadata.uid = "u-" + job;
  gang.owner = {"yardmaster.dev/v1alpha1", api::kTrainingJobKind, job, "", false};
  gang.job.workers = std::max(1, static_cast<int>(hosts.size()));
  gang.job.parallelism.tensor = 8;
  gang.job.parallelism.data = gang.job.workers;
  gang.job.parallelism_given = true;
  gang.rank_bases = {{"", 0}};
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    gang.status.assignments.push_back(
        {static_cast<int>(r), hosts[r], "p", hosts[r].substr(0, hosts[r].size() - 1), {0}});
  }
  gang.status.plan_generation = hosts.empty() ? 0 : 1;
  return gang;
}

void Put(state::ClusterState& cluster, const api::Gang& gang) {
  cluster.gangs.Put(std::make_shared<const api::Gang>(gang));
}

void Put(state::ClusterState& cluster, const api::Node& node) {
  cluster.nodes.Put(std::make_shared<const api::Node>(node));
}

void Put(state::ClusterState& cluster, const api::TrainingJob& job) {
  cluster.jobs.Put(std::make_shared<const api::TrainingJob>(job));
}

void PutPod(state::ClusterState& cluster, const std::string& name, const std::string& host) {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_name = "demo";
  pod.node_name = host;
  pod.phase = "Running";
  workload::SetAmount(pod.requests, api::kGpuResource, 8);
  cluster.pods.Put(std::make_shared<const api::Pod>(pod));
}

}  // namespace yardmaster::page
