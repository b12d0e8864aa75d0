// Gathers pods into gangs, kept from one pass to the next: a pod that came, went or changed costs a
// look at itself and a copy of its gang's members.
//
// Determinism: the answer depends on the pods given last, never on those before. Thread safety: one
// thread. What it hands out stays valid and unchanged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/extender/gather.h"

namespace yardmaster::extender {

class Gatherer {
 public:
  // The rank bases of the gang that pods of this owner belong to; null: ranks are left open.
  using BasesOf = std::function<const std::vector<api::RankBase>*(
      const std::string& namespace_name, const std::string& name, const std::string& owner_uid)>;

  void Update(const state::ObjectTable<api::Pod>& pods);
  void Add(const PodPtr& pod);
  // By (namespace, name, owner's uid).
  std::vector<std::shared_ptr<const GatheredGang>> Gangs(const BasesOf& bases_of);
  // "Pod ns/name: ..." for pods that want a gang and cannot be given one, by (namespace, name).
  std::vector<std::string> Problems() const;

 private:
  using Id = std::tuple<std::string, std::string, std::string>;  // namespace, name, owner's uid
  struct Kept {
    std::map<std::string, GangMember> members;  // by the pod's name
    int finished = 0;
    // As it was handed out last; null: pods have changed since.
    std::shared_ptr<const GatheredGang> gang;
    std::optional<std::vector<api::RankBase>> bases;  // that its ranks are from
  };

  void Remove(const api::Pod& pod);
  static GatheredGang Compose(const Id& id, const Kept& kept);

  state::ObjectTable<api::Pod> pods_;
  std::map<Id, Kept> gangs_;
  std::map<std::pair<std::string, std::string>, std::string> problems_;  // by pod
};

}  // namespace yardmaster::extender
