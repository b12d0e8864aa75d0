// One process's connection to the API server in memory, over a network that loses, delays and cuts.
//
// What happens to a call is decided by a function of the call, so a history is a function of its
// seed. A process that is killed during a call never learns its answer: all later calls fail
// without effect, and its process is to be thrown away. Thread safety: none.
#pragma once

#include <functional>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/kube/client.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::chaos {

enum class Fate {
  kDone,
  kNotSent,         // no effect, an error
  kAnswerLost,      // takes effect, an error
  kRetryConflicts,  // takes effect, and a retry met it: Aborted
  kDelayed,         // an error, and takes effect later
  kStalled,         // takes effect after others have acted
  kKilledBefore,
  kKilledAfter,
};

// Writes that are still on their way.
class Network {
 public:
  void Add(std::function<void()> effect) { late_.push_back(std::move(effect)); }
  std::size_t size() const { return late_.size(); }
  // One of them, in any order.
  void DeliverOne(Random& random);

 private:
  std::vector<std::function<void()>> late_;
};

class ChaosClient final : public kube::Client {
 public:
  ChaosClient(kube::FakeClient& server, Network& network) : server_(server), network_(network) {}

  // Asked before every call while the process is alive and connected.
  void SetFates(std::function<Fate(const kube::Call&)> fates) { fates_ = std::move(fates); }
  // What others do while a call is stalled.
  void SetStall(std::function<void()> stall) { stall_ = std::move(stall); }
  void set_cut(bool cut) { cut_ = cut; }
  bool cut() const { return cut_; }
  bool killed() const { return killed_; }

  absl::StatusOr<nlohmann::json> Get(const kube::Target& target) override;
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override;
  absl::StatusOr<nlohmann::json> Create(const kube::Target& target, const nlohmann::json& object,
                                        const kube::WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Replace(const kube::Target& target, const nlohmann::json& object,
                                         const kube::WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Patch(const kube::Target& target, const kube::PatchBody& patch,
                                       const kube::WriteOptions& options) override;
  absl::Status Delete(const kube::Target& target, const kube::DeleteOptions& options) override;
  // Not served: processes of a history are told what changed (chaos_process.h).
  absl::Status Watch(const kube::Target& target, const kube::WatchOptions& options,
                     std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override;

 private:
  template <typename Answer>
  Answer Run(const kube::Call& call, const std::function<Answer()>& effect);

  kube::FakeClient& server_;
  Network& network_;
  std::function<Fate(const kube::Call&)> fates_;
  std::function<void()> stall_;
  bool cut_ = false;
  bool killed_ = false;
};

}  // namespace yardmaster::chaos
