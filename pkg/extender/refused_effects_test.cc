// Every write of a story is refused, lost, or late, one at a time and two at a time: the cluster
// ends as it does without, and no promise is broken on the way. Late: the answer is an error, and
// the write takes effect after the pass, or after the next one.
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

enum class Fault { kRefused, kUnanswered, kLost, kLate, kVeryLate };
constexpr Fault kFaults[] = {Fault::kRefused, Fault::kUnanswered, Fault::kLost, Fault::kLate,
                             Fault::kVeryLate};
constexpr const char* kNames[] = {"refused", "unanswered", "lost", "late", "very late"};

class RefusedEffectsTest : public PlannerFixture {
 protected:
  using Faults = std::map<int, Fault>;  // by write of the story, from 0

  // What people and the next process find: who has which kind of place, and which pods run. Hosts
  // may differ.
  struct End {
    std::map<std::string, std::size_t> placed;  // ranks, by Gang
    std::map<std::string, std::string> pods;    // "gated" or "running", by name
    std::size_t tainted = 0;
    bool operator==(const End&) const = default;
  };

  virtual void Begin() = 0;
  // What the rest of the cluster does after every pass.
  virtual void OthersMove() = 0;
  // What happens once, from the fourth pass on. False: not yet.
  virtual bool Happens() = 0;

  // Plays the story; `writes` counts those that were tried.
  End Play(const Faults& faults, int* writes = nullptr) {
    Clear();
    Begin();
    int count = 0;
    std::vector<std::pair<int, kube::Call>> late;  // and after which pass
    int pass = 0;
    Process process(*this, /*leader=*/true);
    const auto hook = [&](const kube::Call& call) -> absl::Status {
      const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList ||
                         call.verb == kube::Verb::kWatch;
      if (reads || sending_) return absl::OkStatus();
      const auto fault = faults.find(count++);
      if (fault == faults.end()) return absl::OkStatus();
      switch (fault->second) {
        case Fault::kRefused:
          return absl::PermissionDeniedError("a policy");
        case Fault::kUnanswered:
          return absl::DeadlineExceededError("no answer");
        case Fault::kLost:
          Send(call);
          return absl::UnavailableError("the answer is lost");
        case Fault::kLate:
          late.emplace_back(pass, call);
          return absl::DeadlineExceededError("no answer");
        case Fault::kVeryLate:
          late.emplace_back(pass + 1, call);
          return absl::DeadlineExceededError("no answer");
      }
      return absl::OkStatus();
    };
    bool happened = false;
    for (int quiet = 0; quiet < 2; ++pass) {
      EXPECT_LT(pass, 60) << "it does not come to rest";
      if (pass >= 60) break;
      client_.SetHook(hook);
      const int before = count;
      process.Pass();
      client_.SetHook({});
      for (auto& [due, call] : late) {
        if (due == pass) Send(call);
      }
      CheckPromises();
      OthersMove();
      CheckPromises();
      clock_.Advance(30'000);  // past every back-off
      quiet = !happened || count != before ? 0 : quiet + 1;
      happened = happened || (pass >= 3 && Happens());
    }
    if (writes != nullptr) *writes = count;
    return Look();
  }

  void ExpectEveryFaultConverges() {
    int writes = 0;
    const End expected = Play({}, &writes);
    ASSERT_GT(writes, 5);
    for (int first = 0; first < writes; ++first) {
      for (std::size_t fault = 0; fault < std::size(kFaults); ++fault) {
        SCOPED_TRACE(StrCat("write ", first, " is ", kNames[fault]));
        ExpectEnd(expected, {{first, kFaults[fault]}});
        // And, of some, one that follows from it.
        if ((first + static_cast<int>(fault)) % 3 == 0) {
          ExpectEnd(expected, {{first, kFaults[fault]}, {first + 1, kFaults[(fault + 1) % 5]}});
        }
        if (HasFailure()) return;
      }
    }
  }

 private:
  void ExpectEnd(const End& expected, const Faults& faults) {
    const End end = Play(faults);
    EXPECT_EQ(end.placed, expected.placed);
    EXPECT_EQ(end.pods, expected.pods);
    EXPECT_EQ(end.tainted, expected.tainted);
  }
  void Clear() {
    DeleteAllJobs();
    for (int host = 0; host < 2 * kHostsPerSegment; ++host) {
      AddNode(host / kHostsPerSegment, host % kHostsPerSegment);
    }
    for (json node : client_.All(kube::Nodes())) {
      node["spec"].erase("taints");
      client_.Seed(kube::Nodes(), node);
    }
  }
  // Without faults.
  void Send(const kube::Call& call) {
    sending_ = true;
    switch (call.verb) {
      case kube::Verb::kCreate:
        client_.Create(call.target, call.body, {}).IgnoreError();
        break;
      case kube::Verb::kReplace:
        client_.Replace(call.target, call.body, {}).IgnoreError();
        break;
      case kube::Verb::kPatch:
        client_
            .Patch(call.target,
                   call.body.is_array() ? kube::JsonPatch(call.body) : kube::MergePatch(call.body),
                   {})
            .IgnoreError();
        break;
      default:
        break;
    }
    sending_ = false;
  }
  End Look() {
    End end;
    for (const json& gang : client_.All(kube::Gangs())) {
      end.placed[gang["metadata"]["name"]] =
          gang.value("/status/assignments"_json_pointer, json::array()).size();
    }
    for (const json& pod : client_.All(kube::Pods())) {
      end.pods[pod["metadata"]["name"]] = Gated(pod) ? "gated" : "running";
    }
    for (const json& node : client_.All(kube::Nodes())) {
      end.tainted += node.value("/spec/taints"_json_pointer, json::array()).size();
    }
    return end;
  }

  bool sending_ = false;
};

class TwoJobsStory : public RefusedEffectsTest {
  void Begin() override {
    AddJob("a", 2);
    AddJob("b", 3);
    has_ended_ = false;
  }
  void OthersMove() override {
    RunReleasedPods();
    if (has_ended_) Finish("a");
  }
  bool Happens() override {
    has_ended_ = true;
    Finish("a");
    return true;
  }

  bool has_ended_ = false;
};

TEST_F(TwoJobsStory, EveryRefusedLostOrLateWriteConverges) { ExpectEveryFaultConverges(); }

class PreemptionStory : public RefusedEffectsTest {
  void Begin() override { AddJob("low", 6); }
  void OthersMove() override {
    MakeMissingPods();
    RunReleasedPods();
  }
  bool Happens() override {
    AddJob("high", 3, R"({"data": {"within": "Segment", "mode": "Required"}})", {{"priority", 10}});
    return true;
  }
};

TEST_F(PreemptionStory, EveryRefusedLostOrLateWriteConverges) { ExpectEveryFaultConverges(); }

class LostHostStory : public RefusedEffectsTest {
  void Begin() override { AddJob("a", 3); }
  void OthersMove() override { RunReleasedPods(); }
  bool Happens() override {
    if (!Placed("a")) return false;
    const std::string lost = Slots("a")[1]["host"];
    AddNode(lost[1] - '0', lost[3] - '0', /*ready=*/false);
    DeletePod("a-1");
    AddPod("a", 1);
    return true;
  }
};

TEST_F(LostHostStory, EveryRefusedLostOrLateWriteConverges) { ExpectEveryFaultConverges(); }

}  // namespace
}  // namespace yardmaster::extender
