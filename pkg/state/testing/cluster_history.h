// Random histories of a cluster. For tests only.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::state {

// A small cluster to which anything may happen.
class ClusterHistory {
 public:
  explicit ClusterHistory(unsigned seed) : random_(seed) {}

  void Step();
  const ClusterState& cluster() const { return cluster_; }
  // An earlier instant, as a cache that had missed everything since would have it.
  void JumpTo(const ClusterState& cluster) { cluster_ = cluster; }
  unsigned Below(unsigned n) { return static_cast<unsigned>(random_() % n); }

 private:
  bool OneIn(unsigned n) { return Below(n) == 0; }
  std::string NodeName() { return StrCat("n", Below(9)); }
  std::string GangName() {
    return OneIn(6) ? StrCat("g", Below(2))
                    : api::GangName(api::kTrainingJobKind, StrCat("j", Below(4)));
  }

  template <typename T, typename Make>
  void Change(ObjectTable<T>& table, const std::string& ns, const std::string& name, Make make);
  static void Toggle(std::vector<std::string>& problems);
  void ChangeFabric();
  void ChangeNode();
  void ChangeState(api::Node& node);
  void ChangePod();

  std::string Addresses();
  api::NodeConstraints Constraints();
  workload::ResourceList Requests();
  api::JobSpec Spec();
  api::TrainingJob Job();
  api::AssignmentEntry Slot(int rank);
  api::Gang Gang();
  api::Pod Pod();

  std::mt19937 random_;
  ClusterState cluster_;
  std::int64_t generation_ = 0;
};

}  // namespace yardmaster::state
