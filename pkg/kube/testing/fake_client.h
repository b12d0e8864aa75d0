// An API server in memory, for tests of everything above pkg/kube.
//
// Like the real one: resourceVersions grow over all types; a stale one or a wrong uid gives Aborted
// (Replace of our own types must carry one); a write that changes nothing changes no version;
// generation counts changes of the desired state; JSON patches are all or nothing and a failed test
// gives FailedPrecondition; merge patch; the status subresource of pods, nodes and our types is
// apart from the rest; label and field selectors, pages; watches replay history, give ADDED and
// DELETED when an object begins or ceases to match, and OutOfRange when the history is gone;
// finalizers hold a deletion back; pods/binding and pods/eviction.
//
// Not like the real one: no schema (a test may set one rule a type), admission, RBAC, defaulting,
// garbage collection or namespaces; field selectors work on every field; managedFields is not
// shown; watches do not end by time; latency is zero.
//
// Faults. FailNext makes the next calls fail, before or after they take effect (a lost answer); a
// hook sees every call first and may refuse it, which is how a test kills a process at the n-th
// write.
//
// Thread safety: all methods from any thread. The hook runs without a lock held, on the caller's
// thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/mutex.h"
#include "pkg/kube/client.h"
#include "pkg/kube/testing/fake_store.h"
#include "pkg/kube/testing/list_page.h"

namespace yardmaster::kube {

enum class Verb { kGet, kList, kWatch, kCreate, kReplace, kPatch, kDelete };

struct Call {
  Verb verb;
  Target target;
  // What was sent: the object, or the patch. Null for Delete and the reading verbs.
  nlohmann::json body;
  bool dry_run = false;
};
// "gangs", "gangs/status": how faults and counts name what a call is about.
std::string WhereOf(const Target& target);

enum class FaultWhen { kBeforeEffect, kAfterEffect };

class FakeClient final : public Client {
 public:
  // `clock` gives creation and deletion times; it must outlive the client.
  explicit FakeClient(const Clock& clock) : store_(clock) {}

  absl::StatusOr<nlohmann::json> Get(const Target& target) override;
  absl::StatusOr<PageEnd> ReadPage(const Target& target, const ListOptions& options,
                                   const OnObject& on_object) override;
  absl::StatusOr<nlohmann::json> Create(const Target& target, const nlohmann::json& object,
                                        const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Replace(const Target& target, const nlohmann::json& object,
                                         const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Patch(const Target& target, const PatchBody& patch,
                                       const WriteOptions& options) override;
  absl::Status Delete(const Target& target, const DeleteOptions& options) override;
  absl::Status Watch(const Target& target, const WatchOptions& options, std::stop_token stop,
                     const std::function<void(const WatchEvent&)>& on_event) override;

  // Puts an object there as it is, status included, or changes it; watches see it. Faults and
  // records do not apply.
  void Seed(const Resource& resource, nlohmann::json object);
  std::optional<nlohmann::json> Find(const Resource& resource, const std::string& ns,
                                     const std::string& name) const;
  std::vector<nlohmann::json> All(const Resource& resource) const;
  // The version of the newest write.
  std::int64_t version() const;
  // What a watch of the type from version `after` would give up to version `until`, in order.
  std::vector<FakeLogEntry> Changes(const Resource& resource, std::int64_t after,
                                    std::int64_t until) const;

  // The next `times` calls of `verb` on `where` ("pods", "gangs/status", "*") fail with `status`.
  // Several faults on the same calls are used up in the order they were set.
  void FailNext(Verb verb, const std::string& where, absl::Status status, int times = 1,
                FaultWhen when = FaultWhen::kBeforeEffect);
  // Every later Replace or Patch that changes an object of the type must pass `rule`, as a
  // validation rule of its CRD; a status that is not OK is the call's result. Called under the
  // client's lock.
  void SetRule(const Resource& resource, FakeStore::Rule rule);
  // Called before every call, watches included; a status that is not OK is the call's result.
  void SetHook(std::function<absl::Status(const Call&)> hook);

  // From now on lists may be streamed (WatchOptions::send_initial_events).
  void AllowStreamedLists();
  // Blocks until at least `count` watches of the type are running. EndWatches reaches only running
  // watches.
  void WaitForWatches(const Resource& resource, int count);
  // Running watches of the type get a bookmark.
  void SendBookmark(const Resource& resource);
  // Forgets all history: watches from before now, and pages of running lists, give OutOfRange.
  void Compact();
  // Ends the running watches of the type with `status`.
  void EndWatches(const Resource& resource, absl::Status status = absl::OkStatus());

  // Every call since the start or the last ClearCalls, in order.
  std::vector<Call> calls() const;
  int CountCalls(Verb verb, const std::string& where) const;
  void ClearCalls();

 private:
  struct Fault {
    Verb verb;
    std::string where;
    absl::Status status;
    int times;
    FaultWhen when;
  };
  // The watches of one type.
  struct Watches {
    int running = 0;
    int ended = 0;  // how often EndWatches has been called, and with what
    absl::Status end_status;
  };

  // The page, under the lock.
  absl::StatusOr<ListPage> PageOf(const Target& target, const ListOptions& options);
  // REQUIRES: `lock` holds mutex_, which the analysis cannot follow through a reference.
  absl::Status RunWatch(const Target& target, const WatchOptions& options, std::stop_token stop,
                        const std::function<void(const WatchEvent&)>& on_event,
                        MutexLock& lock) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Records the call, runs the hook, and takes the fault that is due, if any.
  absl::Status Begin(Call call, std::optional<Fault>& after);
  absl::StatusOr<nlohmann::json> TryCreate(const Target& target, nlohmann::json object);
  absl::StatusOr<nlohmann::json> Write(
      Call call, const std::function<absl::StatusOr<ObjectPtr>(FakeStore&)>& effect);

  mutable Mutex mutex_;
  CondVar changed_;
  FakeStore store_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call> calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  std::function<absl::Status(const Call&)> hook_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Watches> watches_ ABSL_GUARDED_BY(mutex_);  // by Resource::GroupResource()
  // Remaining pages of lists that were cut by their limit, by continue token.
  std::map<std::string, ListPage> pages_ ABSL_GUARDED_BY(mutex_);
  int next_page_ ABSL_GUARDED_BY(mutex_) = 0;
  bool streamed_lists_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace yardmaster::kube
