#include "bench/cluster_load/cloud_objects.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/cluster_load/cloud_prototypes.h"
#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/render_fabric.h"

namespace yardmaster::bench {
namespace {

using nlohmann::json;

std::string Uid(char kind, std::size_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "%c0000000-1234-4abc-8def-%012zu", kind, number);
  return text;
}

std::string AddressOf(std::size_t number) {
  return StrCat("10.", number >> 16, ".", (number >> 8) & 255, ".", number & 255);
}

// The text as it is written inside a JSON string, without the quotes.
std::string Escaped(const std::string& text) {
  const std::string quoted = json(text).dump();
  return quoted.substr(1, quoted.size() - 2);
}

std::string JobOf(std::size_t gang) { return StrCat("pretrain-", gang); }

}  // namespace

Template::Template(const json& prototype) {
  const std::string text = prototype.dump();
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = text.find('@', from);
    std::size_t hole = at;
    // A placeholder is "@N@" with one digit; an image's "@sha256:" is not one.
    while (hole != std::string::npos && !(hole + 2 < text.size() && text[hole + 2] == '@' &&
                                          text[hole + 1] <= '9' && text[hole + 1] >= '0')) {
      hole = text.find('@', hole + 1);
    }
    if (hole == std::string::npos) {
      pieces_.push_back({text.substr(from), -1});
      return;
    }
    pieces_.push_back({text.substr(from, hole - from), text[hole + 1] - '0'});
    from = hole + 3;
  }
}

void Template::Fill(const std::vector<std::string>& values, std::string& out) const {
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (piece.hole >= 0) out += values[static_cast<std::size_t>(piece.hole)];
  }
}

CloudCluster::CloudCluster()
    : gang_pod_(GangPodPrototype()),
      other_pod_(OtherPodPrototype()),
      node_(NodePrototype(false, false)),
      backup_node_(NodePrototype(true, false)),
      promised_node_(NodePrototype(false, true)) {}

absl::StatusOr<CloudCluster> CloudCluster::Make(const api::Fabric& fabric, int pods) {
  YM_ASSIGN_OR_RETURN(const std::vector<json> rendered, cli::RenderFabric(fabric));
  CloudCluster cluster;
  json first = rendered.front();
  first["metadata"]["uid"] = "fabric";
  first["metadata"]["resourceVersion"] = "1";
  first["metadata"]["generation"] = 1;
  cluster.fabric_ = first.dump();
  for (std::size_t i = 1; i < rendered.size(); ++i) {
    const json& metadata = rendered[i]["metadata"];
    const json& labels = metadata["labels"];
    cluster.nodes_.push_back(
        {metadata["name"], labels[api::kFabricPodLabel], labels[api::kSegmentLabel],
         metadata["annotations"][api::kNicAddressesAnnotation], labels.contains(api::kBackupKey)});
  }
  cluster.per_segment_ = static_cast<std::size_t>(fabric.spec.hosts_per_segment);
  cluster.backup_ = static_cast<std::size_t>(fabric.spec.backup.hosts_per_segment);
  cluster.gang_segments_ = cluster.nodes_.size() / cluster.per_segment_ - 1;
  cluster.pods_ =
      std::max(static_cast<std::size_t>(pods), cluster.gang_segments_ * cluster.workers());
  for (std::size_t g = 0; g < cluster.gang_segments_; ++g) {
    cluster.gang_names_.push_back(api::GangName("TrainingJob", JobOf(g)));
  }
  return cluster;
}

std::string CloudCluster::PodPath(std::size_t index) const {
  if (index >= gang_segments_ * workers()) return StrCat("web/service-", index, "-x7k2p");
  return StrCat("team/", JobOf(index / workers()), "-", index % workers());
}

void CloudCluster::AppendPod(std::size_t index, std::string& out) const {
  const std::string path = PodPath(index);
  const std::string name = path.substr(path.find('/') + 1);
  std::vector<std::string> values = {name, Uid('a', index), StrCat(index + 1), "",
                                     AddressOf(index)};
  if (index < gang_segments_ * workers()) {
    const std::size_t gang = index / workers(), rank = index % workers();
    const NodeFacts& host = Worker(gang, rank);
    values[3] = host.name;
    values.push_back(JobOf(gang));
    values.push_back(StrCat(rank));
    values.push_back(Escaped(api::EncodeSlot(
        {gang_names_[gang], static_cast<int>(rank), host.fabric_pod, host.segment, {0}})));
    return gang_pod_.Fill(values, out);
  }
  values[3] = nodes_[index % nodes_.size()].name;
  values.push_back(StrCat("7c9f", index / 16));
  values.push_back(StrCat("service-", index % 400));
  other_pod_.Fill(values, out);
}

void CloudCluster::AppendNode(std::size_t index, std::string& out) const {
  const NodeFacts& node = nodes_[index];
  const std::size_t gang = index / per_segment_;
  std::vector<std::string> values = {
      node.name,    Uid('b', index),  StrCat(index + 1), node.fabric_pod,
      node.segment, AddressOf(index), node.addresses,    ""};
  if (node.backup) return backup_node_.Fill(values, out);
  if (gang >= gang_segments_) return node_.Fill(values, out);
  values[7] = StrCat("team.", gang_names_[gang]);
  promised_node_.Fill(values, out);
}

void CloudCluster::AppendGang(std::size_t index, std::string& out) const {
  api::Gang gang;
  gang.metadata.name = gang_names_[index];
  gang.metadata.namespace_name = "team";
  gang.metadata.uid = Uid('c', index);
  gang.metadata.resource_version = StrCat(index + 1);
  gang.metadata.generation = 1;
  gang.owner = {api::kGroupVersion, "TrainingJob", JobOf(index), StrCat("job-", JobOf(index)),
                true};
  gang.metadata.owners = {gang.owner};
  gang.job.workers = static_cast<int>(workers());
  gang.job.parallelism_given = true;
  gang.job.parallelism.tensor = 8;
  gang.job.parallelism.data = static_cast<int>(workers());
  gang.rank_bases = {{"", 0}};
  gang.status.plan_generation = 1;
  gang.status.outcome = placement::Outcome::kPlaced;
  gang.status.conditions = {{"Planned", api::ConditionStatus::kTrue, "Placed", "", 1, 0},
                            {"Released", api::ConditionStatus::kTrue, "PodsReleased", "", 1, 0}};
  for (std::size_t rank = 0; rank < workers(); ++rank) {
    const NodeFacts& host = Worker(index, rank);
    gang.status.assignments.push_back(
        {static_cast<int>(rank), host.name, host.fabric_pod, host.segment, {0}});
  }
  out += api::EncodeGang(gang).dump();
}

std::vector<std::string> CloudCluster::PromisedHosts(std::size_t count) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(Worker(i % gang_segments_, i).name);
  return names;
}

std::vector<std::string> CloudCluster::BackupHosts(std::size_t count) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(Worker(i, per_segment_ - 1).name);
  return names;
}

std::vector<std::string> CloudCluster::FreeHosts(std::size_t count) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(Worker(gang_segments_, i).name);
  return names;
}

}  // namespace yardmaster::bench
