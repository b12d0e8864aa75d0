// Replays pods and owners as the job controllers really write them (test/data/kinds), stage by
// stage: gathered, placed, retried, suspended, resumed, scaled, deleted. TESTONLY. Thread safety:
// none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {

// What is true after a stage.
struct KindStage {
  const char* file;
  int placed = 1;          // gangs that hold hosts
  int running = 0;         // unfinished pods on the host of their slot
  bool same_hosts = true;  // as after the stage before
  int strays = 0;          // pods with an event that they are in no gang
};

class KindsTest : public BatchJobFixture {
 protected:
  KindsTest();
  // Brings pods and owners to what was recorded. Pods that are new come behind our gate and on no
  // node, as admission has it; those that are there keep where we sent them.
  void Apply(const std::string& file);
  // Passes and checks after each stage, then everything is deleted and no host may be held.
  void Replay(const std::vector<KindStage>& stages);

  int passes_ = 3;  // after each stage, before it is checked

 private:
  void Remove(json pod);
  // As the garbage collector: Gangs of an owner of which another life is there.
  void CollectGarbage(const std::set<std::string>& uids);
  // The recordings leave pod templates out, and with them how many pods the owner wants: as many as
  // there are of each replica type or task that are not being deleted.
  static json WithSizes(json owner, const json& objects);
  void ApplyOwner(const json& object);
  void ApplyPod(const json& recorded);
  static void TakeFromKueue(const json& recorded, json& pod);
  // As kube-scheduler and kubelets would.
  void Run();
  // Host of every (gang, rank) that is promised; each host once.
  std::map<std::string, std::string> Promises(int* placed);
  void Check(const KindStage& stage, const PassReport& report);

  std::vector<std::pair<NamespacedName, kube::Resource>> owners_;
  std::map<std::string, std::string> slots_before_;
};

}  // namespace yardmaster::extender
