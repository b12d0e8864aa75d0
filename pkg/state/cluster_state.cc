#include "pkg/state/cluster_state.h"

#include <chrono>
#include <set>
#include <utility>

#include "pkg/base/run_once.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/state/device_overlay.h"
#include "pkg/state/object_store.h"

namespace yardmaster::state {

namespace {

constexpr std::size_t kMaxProblemBytes = 4096;

}  // namespace

// The sink of a kind, with what the cache itself asks of it.
class ClusterCache::KindCache : public kube::ObjectSink {
 public:
  virtual void Assume(JsonView object) = 0;
};

template <typename T>
class ClusterCache::TypedCache final : public KindCache {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = absl::StatusOr<T> (*)(JsonView);

  TypedCache(ClusterCache& cache, Kind kind, const char* name, bool namespaced, Decode decode)
      : cache_(cache), kind_(kind), name_(name), namespaced_(namespaced), decode_(decode) {}

  void BeginList() override {
    listed_problems_.clear();
    MutexLock lock(cache_.mutex_);
    store_.BeginList();
  }

  void Listed(JsonView object) override {
    const Ptr decoded = HeldOrDecoded(object);
    if (decoded == nullptr) {
      const NamespacedName key = KeyOf(object);
      listed_problems_.insert(ProblemKey(object));
      {
        MutexLock lock(cache_.mutex_);
        store_.ListedUnreadable(key);
      }
      return NotifyUnreadable(key, /*deleted=*/false);
    }
    Take(object, decoded, &ObjectStore<T>::Listed);
  }

  void EndList(const std::string& version) override {
    std::vector<Ptr> gone;
    {
      MutexLock lock(cache_.mutex_);
      gone = store_.EndList(VersionNumber(version));
      const std::string mine = StrCat(name_, " ");
      const std::size_t problems = std::erase_if(cache_.problems_, [&](const auto& problem) {
        return problem.first.starts_with(mine) && listed_problems_.count(problem.first) == 0;
      });
      if (!gone.empty() || problems > 0) cache_.Changed();
    }
    listed_problems_.clear();
    for (const Ptr& object : gone) cache_.NotifyListener(kind_, object->metadata, /*deleted=*/true);
  }

  void Put(JsonView object) override {
    const Ptr decoded = HeldOrDecoded(object);
    if (decoded == nullptr) {
      Advance(kube::ResourceVersionOf(object));
      return NotifyUnreadable(KeyOf(object), /*deleted=*/false);
    }
    Take(object, decoded, &ObjectStore<T>::Put);
  }

  void Remove(JsonView object) override {
    const NamespacedName key = KeyOf(object);
    Ptr last;
    {
      MutexLock lock(cache_.mutex_);
      last = store_.objects().Find(key);
      const bool removed =
          store_.Remove(key, VersionNumber(kube::ResourceVersionOf(object)), kube::UidOf(object));
      const bool mended = cache_.problems_.erase(ProblemKey(object)) != 0;
      if (removed || mended) cache_.Changed();
      if (!removed) last = nullptr;
      if (!removed && !mended) return;
    }
    if (last == nullptr) return NotifyUnreadable(key, /*deleted=*/true);
    cache_.NotifyListener(kind_, last->metadata, /*deleted=*/true);
  }

  void Advance(const std::string& version) override {
    MutexLock lock(cache_.mutex_);
    store_.Advance(VersionNumber(version));
  }

  // A write's answer is not a delivery: the listener is called when the watch brings the object.
  void Assume(JsonView object) override {
    const Ptr decoded = DecodeOrReport(object);
    if (decoded == nullptr) return;
    MutexLock lock(cache_.mutex_);
    if (store_.Assume(decoded)) cache_.Changed();
  }

  // REQUIRES: the cache's lock; the analysis does not see that its caller's is the same one.
  ObjectTable<T> ShareLocked() ABSL_NO_THREAD_SAFETY_ANALYSIS { return store_.Share(); }

  Ptr Find(const std::string& key) const {
    const std::string_view text = key;
    const std::size_t slash = text.find('/');
    const NamespacedNameView at =
        slash == text.npos ? NamespacedNameView{"", text}
                           : NamespacedNameView{text.substr(0, slash), text.substr(slash + 1)};
    MutexLock lock(cache_.mutex_);
    return store_.objects().Find(at);
  }

 private:
  // As the decoders have it: a namespaced object without a namespace is in "default".
  NamespacedName KeyOf(JsonView object) const {
    std::string ns = namespaced_ ? kube::NamespaceOf(object) : "";
    if (namespaced_ && ns.empty()) ns = "default";
    return {std::move(ns), kube::NameOf(object)};
  }
  std::string ProblemKey(JsonView object) const { return StrCat(name_, " ", kube::KeyOf(object)); }

  static std::string Problem(const std::string& who, std::string_view text) {
    return StrCat(who, ": ", CutAtCharacter(text, kMaxProblemBytes));
  }

  // Of an object that cannot be decoded, only who it is.
  void NotifyUnreadable(const NamespacedName& key, bool deleted) const {
    api::ObjectMeta metadata;
    metadata.namespace_name = key.namespace_name;
    metadata.name = key.name;
    cache_.NotifyListener(kind_, metadata, deleted);
  }

  // The state that is held, if this is it again, as when a list is read again or the watch brings
  // our own write back. Otherwise, and without a numeric version, the state is decoded.
  Ptr HeldOrDecoded(JsonView object) {
    const std::string version = kube::ResourceVersionOf(object);
    if (VersionNumber(version) != 0) {
      Ptr held;
      {
        MutexLock lock(cache_.mutex_);
        held = store_.objects().Find(KeyOf(object));
      }
      if (held != nullptr && held->metadata.resource_version == version &&
          held->metadata.uid == kube::UidOf(object)) {
        return held;
      }
    }
    return DecodeOrReport(object);
  }

  // Without the lock: decoding is most of the work.
  Ptr DecodeOrReport(JsonView object) {
    absl::StatusOr<T> decoded = absl::UnknownError("");
    const absl::Status contained = Contain([&] { decoded = decode_(object); });
    if (!contained.ok()) decoded = contained;
    if (decoded.ok()) return std::make_shared<const T>(*std::move(decoded));
    const std::string who = ProblemKey(object);
    MutexLock lock(cache_.mutex_);
    cache_.problems_[who] = Problem(who, MessageOf(decoded.status()));
    cache_.Changed();
    return nullptr;
  }

  void Take(JsonView object, const Ptr& decoded, bool (ObjectStore<T>::*store)(Ptr)) {
    {
      MutexLock lock(cache_.mutex_);
      const bool other_problems = NoteProblems(object, *decoded);
      if ((store_.*store)(decoded) || other_problems) cache_.Changed();
    }
    cache_.NotifyListener(kind_, decoded->metadata, /*deleted=*/false);
  }

  // Records what of a decoded object could not be read, or that nothing is wrong with it any more.
  // True when that is other than before.
  bool NoteProblems(JsonView object, const T& decoded)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(cache_.mutex_) {
    std::string text;
    if constexpr (requires { decoded.problems; }) text = Join(decoded.problems, "; ");
    if (text.empty() && cache_.problems_.empty()) return false;
    const std::string who = ProblemKey(object);
    if (text.empty()) return cache_.problems_.erase(who) != 0;
    listed_problems_.insert(who);
    std::string& noted = cache_.problems_[who];
    std::string now = Problem(who, text);
    if (noted == now) return false;
    noted = std::move(now);
    return true;
  }

  ClusterCache& cache_;
  const Kind kind_;
  const char* const name_;
  const bool namespaced_;
  const Decode decode_;
  ObjectStore<T> store_ ABSL_GUARDED_BY(cache_.mutex_);
  std::set<std::string> listed_problems_;  // of the list being read; the informer's thread only
};

template <typename T>
std::unique_ptr<ClusterCache::TypedCache<T>> ClusterCache::Make(
    Kind kind, const char* name, bool namespaced, absl::StatusOr<T> (*decode)(JsonView)) {
  return std::make_unique<TypedCache<T>>(*this, kind, name, namespaced, decode);
}

namespace {

// Fields that are not known come from a newer version, whose schema the API server has already.
absl::StatusOr<api::TrainingJob> DecodeJob(JsonView object) {
  return api::DecodeTrainingJob(object, api::UnknownFields::kIgnore);
}

absl::StatusOr<api::TrainingJob> DecodeJobWithoutTemplates(JsonView object) {
  absl::StatusOr<api::TrainingJob> job = DecodeJob(object);
  if (job.ok()) job->DropTemplates();
  return job;
}

}  // namespace

ClusterCache::ClusterCache(Templates templates)
    : fabrics_(Make<api::Fabric>(
          Kind::kFabric, "Fabric", false,
          [](JsonView o) { return api::DecodeFabric(o, api::UnknownFields::kIgnore); })),
      nodes_(Make<api::Node>(Kind::kNode, "Node", false,
                             [](JsonView o) { return api::DecodeNode(o, api::Keep::kRead); })),
      pods_(Make<api::Pod>(Kind::kPod, "Pod", true,
                           [](JsonView o) { return api::DecodePod(o, api::Decoding::kLenient); })),
      jobs_(Make<api::TrainingJob>(
          Kind::kTrainingJob, "TrainingJob", true,
          templates == Templates::kKeep ? DecodeJob : DecodeJobWithoutTemplates)),
      gangs_(
          Make<api::Gang>(Kind::kGang, "Gang", true,
                          [](JsonView o) { return api::DecodeGang(o, api::Decoding::kLenient); })),
      pools_(Make<api::CapacityPool>(
          Kind::kCapacityPool, "CapacityPool", false,
          [](JsonView o) { return api::DecodeCapacityPool(o, api::UnknownFields::kIgnore); })),
      slices_(Make<devices::ResourceSlice>(Kind::kResourceSlice, "ResourceSlice", false,
                                           devices::DecodeResourceSlice)),
      classes_(Make<devices::DeviceClass>(Kind::kDeviceClass, "DeviceClass", false,
                                          devices::DecodeDeviceClass)),
      claims_(Make<devices::ResourceClaim>(Kind::kResourceClaim, "ResourceClaim", true,
                                           devices::DecodeResourceClaim)),
      claim_templates_(Make<devices::ResourceClaimTemplate>(Kind::kResourceClaimTemplate,
                                                            "ResourceClaimTemplate", true,
                                                            devices::DecodeResourceClaimTemplate)),
      kinds_{fabrics_.get(), nodes_.get(),  pods_.get(),    jobs_.get(),   gangs_.get(),
             pools_.get(),   slices_.get(), classes_.get(), claims_.get(), claim_templates_.get()},
      overlay_(std::make_unique<DeviceOverlay>()) {}

ClusterCache::~ClusterCache() = default;

kube::ObjectSink& ClusterCache::sink(Kind kind) { return *kinds_[static_cast<std::size_t>(kind)]; }

void ClusterCache::Assume(Kind kind, JsonView object) {
  kinds_[static_cast<std::size_t>(kind)]->Assume(object);
}

void ClusterCache::Changed() {
  ++version_;
  changed_.notify_all();
}

ClusterState ClusterCache::Take() const {
  ClusterState state;
  {
    MutexLock lock(mutex_);
    state = {fabrics_->ShareLocked(),
             nodes_->ShareLocked(),
             pods_->ShareLocked(),
             jobs_->ShareLocked(),
             gangs_->ShareLocked(),
             pools_->ShareLocked(),
             {slices_->ShareLocked(), classes_->ShareLocked(), claims_->ShareLocked(),
              claim_templates_->ShareLocked()},
             {}};
    for (const auto& [who, problem] : problems_) state.problems.push_back(problem);
  }
  MutexLock lock(overlay_mutex_);
  return overlay_->Apply(std::move(state));
}

std::shared_ptr<const api::Gang> ClusterCache::FindGang(const std::string& key) const {
  return gangs_->Find(key);
}

std::shared_ptr<const api::TrainingJob> ClusterCache::FindJob(const std::string& key) const {
  return jobs_->Find(key);
}

std::shared_ptr<const api::Pod> ClusterCache::FindPod(const std::string& key) const {
  return pods_->Find(key);
}

std::shared_ptr<const api::Node> ClusterCache::FindNode(const std::string& name) const {
  return nodes_->Find(name);
}

std::string ClusterCache::ProblemOf(Kind kind, const std::string& key) const {
  const char* const names[] = {
      "Fabric",       "Node",          "Pod",         "TrainingJob",   "Gang",
      "CapacityPool", "ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate"};
  MutexLock lock(mutex_);
  const auto it = problems_.find(StrCat(names[static_cast<std::size_t>(kind)], " ", key));
  return it == problems_.end() ? "" : it->second;
}

std::uint64_t ClusterCache::version() const {
  MutexLock lock(mutex_);
  return version_;
}

std::uint64_t ClusterCache::WaitForChange(std::uint64_t seen, std::int64_t max_ms,
                                          std::stop_token stop) const {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, stop, std::chrono::milliseconds(max_ms),
                    [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return version_ != seen; });
  return version_;
}

}  // namespace yardmaster::state
