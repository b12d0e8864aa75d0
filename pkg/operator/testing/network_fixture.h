// A NetworkController that sees a NetworkCluster as the API server has it. TESTONLY.
//
// Thread safety: one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/operator/network/network_controller.h"
#include "pkg/operator/testing/network_cluster.h"

namespace yardmaster::op {

class NetworkControllerTest : public NetworkCluster {
 protected:
  NetworkControllerTest() { Start({}); }

  // A controller that knows nothing.
  void Start(NetworkController::Options options) {
    cache_ = std::make_unique<state::ClusterCache>();
    options.writes.threads = 1;
    controller_ = std::make_unique<NetworkController>(
        client_, *cache_, clock_, options,
        NetworkHandlers{
            .on_notice = [this](const NetworkNotice& notice) { notices_.push_back(notice); }});
  }

  // The informers catch up, and a round is made.
  RoundReport Round() {
    const auto sync = [this](state::Kind kind, const kube::Resource& resource) {
      std::set<std::string>& known = known_[kind];
      std::set<std::string> now;
      for (const nlohmann::json& object : client_.All(resource)) {
        cache_->Deliver(kind, object);
        now.insert(kube::KeyOf(object));
      }
      for (const std::string& key : known) {
        if (now.count(key) != 0) continue;
        const std::size_t slash = key.find('/');
        nlohmann::json gone = {
            {"metadata", {{"name", key.substr(slash == key.npos ? 0 : slash + 1)}}}};
        if (slash != key.npos) gone["metadata"]["namespace"] = key.substr(0, slash);
        cache_->Remove(kind, gone);
      }
      known = now;
    };
    sync(state::Kind::kFabric, kube::Fabrics());
    sync(state::Kind::kNode, kube::Nodes());
    sync(state::Kind::kGang, kube::Gangs());
    sync(state::Kind::kPod, kube::Pods());
    client_.ClearCalls();
    return controller_->RunOnce();
  }
  // Rounds until nothing more is to be written.
  RoundReport RunUntilStable() {
    RoundReport report;
    for (int i = 0; i < 20; ++i) {
      report = Round();
      if (report.pods == 0 && report.statuses == 0) return report;
      clock_.Advance(1'000);
    }
    ADD_FAILURE() << "does not settle";
    return report;
  }

  std::unique_ptr<state::ClusterCache> cache_;
  std::unique_ptr<NetworkController> controller_;
  std::vector<NetworkNotice> notices_;
  std::map<state::Kind, std::set<std::string>> known_;
};

}  // namespace yardmaster::op
