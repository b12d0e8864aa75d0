#include "pkg/kube/testing/fake_client.h"

#include <algorithm>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/object_selector.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

// Both selectors of a list or watch.
struct Selection {
  std::string ns;
  ObjectSelector labels;
  FieldSelector fields;

  static absl::StatusOr<Selection> Parse(const Target& target, const std::string& labels,
                                         const std::string& fields) {
    YM_ASSIGN_OR_RETURN(ObjectSelector label_selector, ObjectSelector::Parse(labels));
    YM_ASSIGN_OR_RETURN(FieldSelector field_selector, FieldSelector::Parse(fields));
    return Selection{target.ns, std::move(label_selector), std::move(field_selector)};
  }
  bool Matches(const ObjectPtr& object) const {
    return object != nullptr && (ns.empty() || NamespaceOf(*object) == ns) &&
           labels.Matches(*object) && fields.Matches(*object);
  }
};

// An event and what keeps its object alive.
struct FakeEvent {
  WatchEventType type;
  ObjectPtr object;
};

// What a watch with this selection sees of a change; nothing if it sees nothing.
std::optional<FakeEvent> Seen(const Selection& selection, const FakeLogEntry& entry) {
  if (entry.type == WatchEventType::kBookmark) return FakeEvent{entry.type, entry.after};
  const bool before = selection.Matches(entry.before);
  const bool after = entry.type != WatchEventType::kDeleted && selection.Matches(entry.after);
  if (before && after) return FakeEvent{WatchEventType::kModified, entry.after};
  if (after) return FakeEvent{WatchEventType::kAdded, entry.after};
  if (before) return FakeEvent{WatchEventType::kDeleted, entry.after};
  return std::nullopt;
}

// The bookmark behind the objects of a streamed list.
ObjectPtr EndOfList(std::int64_t version) {
  return std::make_shared<const json>(
      json{{"metadata",
            {{"resourceVersion", StrCat(version)},
             {"annotations", {{"k8s.io/initial-events-end", "true"}}}}}});
}

absl::Status TooOld() {
  return absl::OutOfRangeError("The resourceVersion for the provided watch is too old.");
}

}  // namespace

std::string WhereOf(const Target& target) {
  return target.subresource.empty() ? target.resource.plural
                                    : StrCat(target.resource.plural, "/", target.subresource);
}

absl::StatusOr<json> FakeClient::Get(const Target& target) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin({Verb::kGet, target, nullptr}, after));
  MutexLock lock(mutex_);
  YM_ASSIGN_OR_RETURN(ObjectPtr object, store_.Get(target));
  if (after) return after->status;
  return *object;
}

absl::StatusOr<PageEnd> FakeClient::ReadPage(const Target& target, const ListOptions& options,
                                             const OnObject& on_object) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin({Verb::kList, target, nullptr}, after));
  YM_ASSIGN_OR_RETURN(const ListPage page, PageOf(target, options));
  if (after) return after->status;
  for (const ObjectPtr& object : page.items) on_object(*object);
  return PageEnd{page.resource_version, page.continue_token};
}

absl::StatusOr<ListPage> FakeClient::PageOf(const Target& target, const ListOptions& options) {
  YM_ASSIGN_OR_RETURN(Selection selection,
                      Selection::Parse(target, options.label_selector, options.field_selector));
  MutexLock lock(mutex_);
  ListPage page;
  if (!options.continue_token.empty()) {
    auto it = pages_.find(options.continue_token);
    if (it == pages_.end())
      return absl::OutOfRangeError("The provided continue parameter is too old");
    page = it->second;
  } else {
    for (ObjectPtr& object : store_.All(target.resource, target.ns)) {
      if (selection.Matches(object)) page.items.push_back(std::move(object));
    }
    page.resource_version = StrCat(store_.version());
  }
  if (options.limit > 0 && page.items.size() > static_cast<std::size_t>(options.limit)) {
    ListPage rest{
        {page.items.begin() + options.limit, page.items.end()}, page.resource_version, ""};
    page.items.resize(options.limit);
    page.continue_token = StrCat("page-", ++next_page_);
    pages_[page.continue_token] = std::move(rest);
  }
  return page;
}

absl::StatusOr<json> FakeClient::Create(const Target& target, const json& object,
                                        const WriteOptions& options) {
  if (options.dry_run) return TryCreate(target, object);
  return Write({Verb::kCreate, target, object},
               [&](FakeStore& store) { return store.Create(target, object); });
}

absl::StatusOr<json> FakeClient::TryCreate(const Target& target, json object) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin({Verb::kCreate, target, object, /*dry_run=*/true}, after));
  if (after) return after->status;
  const MutexLock lock(mutex_);
  if (store_.Get({target.resource, target.ns, NameOf(object), ""}).ok()) {
    return absl::AlreadyExistsError(StrCat(target.resource.plural, " ", NameOf(object)));
  }
  object["metadata"]["uid"] = "dry-run";
  return object;
}

absl::StatusOr<json> FakeClient::Replace(const Target& target, const json& object,
                                         const WriteOptions&) {
  return Write({Verb::kReplace, target, object},
               [&](FakeStore& store) { return store.Replace(target, object); });
}

absl::StatusOr<json> FakeClient::Patch(const Target& target, const PatchBody& patch,
                                       const WriteOptions&) {
  return Write({Verb::kPatch, target, json::parse(patch.body, nullptr, false)},
               [&](FakeStore& store) { return store.Patch(target, patch); });
}

absl::Status FakeClient::Delete(const Target& target, const DeleteOptions& options) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin({Verb::kDelete, target, nullptr}, after));
  MutexLock lock(mutex_);
  YM_RETURN_IF_ERROR(store_.Delete(target, options));
  changed_.notify_all();
  return after ? after->status : absl::OkStatus();
}

absl::Status FakeClient::Watch(const Target& target, const WatchOptions& options,
                               std::stop_token stop,
                               const std::function<void(const WatchEvent&)>& on_event) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin({Verb::kWatch, target, nullptr}, after));
  if (after) return after->status;
  MutexLock lock(mutex_);
  Watches& watches = watches_[target.resource.GroupResource()];
  ++watches.running;
  changed_.notify_all();
  const absl::Status status = RunWatch(target, options, stop, on_event, lock);
  --watches.running;
  return status;
}

absl::Status FakeClient::RunWatch(const Target& target, const WatchOptions& options,
                                  std::stop_token stop,
                                  const std::function<void(const WatchEvent&)>& on_event,
                                  MutexLock& lock) {
  YM_ASSIGN_OR_RETURN(Selection selection,
                      Selection::Parse(target, options.label_selector, options.field_selector));
  const std::string collection = target.resource.GroupResource();
  std::vector<FakeEvent> events;
  Watches& watches = watches_[collection];
  const int ended_before = watches.ended;
  if (options.send_initial_events && !streamed_lists_) {
    return absl::InvalidArgumentError("sendInitialEvents is forbidden for watch");
  }
  std::int64_t seen = ParseNumber<std::int64_t>(options.resource_version).value_or(0);
  if (seen == 0) {
    for (const ObjectPtr& object : store_.All(target.resource, target.ns)) {
      if (selection.Matches(object)) events.push_back({WatchEventType::kAdded, object});
    }
    seen = store_.version();
  }
  bool listing = options.send_initial_events;
  // Bookmarks share their version with the entry before them, so progress is counted in entries.
  if (seen < store_.compacted_version()) return TooOld();
  std::size_t next = 0;
  while (next < store_.log().size() && store_.log()[next].version <= seen) ++next;
  std::int64_t compacted = store_.compacted_version();
  for (;;) {
    if (store_.compacted_version() != compacted) {  // the log began again
      if (seen < store_.compacted_version()) return TooOld();
      compacted = store_.compacted_version();
      next = 0;
    }
    for (; next < store_.log().size(); ++next) {
      const FakeLogEntry& entry = store_.log()[next];
      seen = entry.version;
      if (entry.collection != collection) continue;
      if (std::optional<FakeEvent> event = Seen(selection, entry)) {
        events.push_back(*std::move(event));
      }
    }
    if (!events.empty()) {
      lock.unlock();
      for (const FakeEvent& event : events) {
        if (!stop.stop_requested()) on_event({event.type, *event.object});
      }
      events.clear();
      lock.lock();
      if (stop.stop_requested()) return absl::CancelledError("stopped");
      continue;
    }
    // After what has changed meanwhile, as the server's watch cache sends it.
    if (std::exchange(listing, false)) {
      events.push_back({WatchEventType::kBookmark, EndOfList(seen)});
      continue;
    }
    if (watches.ended != ended_before) return watches.end_status;
    const std::size_t size = next;
    changed_.wait(lock, stop, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return store_.log().size() != size || store_.compacted_version() != compacted ||
             watches.ended != ended_before;
    });
    if (stop.stop_requested()) return absl::CancelledError("stopped");
  }
}

void FakeClient::AllowStreamedLists() {
  MutexLock lock(mutex_);
  streamed_lists_ = true;
}

void FakeClient::Seed(const Resource& resource, json object) {
  MutexLock lock(mutex_);
  store_.Seed(resource, std::move(object));
  changed_.notify_all();
}

std::optional<json> FakeClient::Find(const Resource& resource, const std::string& ns,
                                     const std::string& name) const {
  MutexLock lock(mutex_);
  absl::StatusOr<ObjectPtr> object = store_.Get({resource, ns, name, ""});
  if (!object.ok()) return std::nullopt;
  return **object;
}

std::vector<json> FakeClient::All(const Resource& resource) const {
  MutexLock lock(mutex_);
  std::vector<json> all;
  for (const ObjectPtr& object : store_.All(resource, "")) all.push_back(*object);
  return all;
}

std::vector<FakeLogEntry> FakeClient::Changes(const Resource& resource, std::int64_t after,
                                              std::int64_t until) const {
  MutexLock lock(mutex_);
  const std::vector<FakeLogEntry>& log = store_.log();
  auto at = std::partition_point(log.begin(), log.end(), [after](const FakeLogEntry& entry) {
    return entry.version <= after;
  });
  std::vector<FakeLogEntry> changes;
  for (; at != log.end() && at->version <= until; ++at) {
    if (at->collection == resource.GroupResource()) changes.push_back(*at);
  }
  return changes;
}

std::int64_t FakeClient::version() const {
  MutexLock lock(mutex_);
  return store_.version();
}

void FakeClient::FailNext(Verb verb, const std::string& where, absl::Status status, int times,
                          FaultWhen when) {
  MutexLock lock(mutex_);
  faults_.push_back({verb, where, std::move(status), times, when});
}

void FakeClient::SetRule(const Resource& resource, FakeStore::Rule rule) {
  MutexLock lock(mutex_);
  store_.SetRule(resource, std::move(rule));
}

void FakeClient::SetHook(std::function<absl::Status(const Call&)> hook) {
  MutexLock lock(mutex_);
  hook_ = std::move(hook);
}

void FakeClient::WaitForWatches(const Resource& resource, int count) {
  MutexLock lock(mutex_);
  changed_.wait(lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return watches_[resource.GroupResource()].running >= count;
  });
}

void FakeClient::SendBookmark(const Resource& resource) {
  MutexLock lock(mutex_);
  store_.Bookmark(resource);
  changed_.notify_all();
}

void FakeClient::Compact() {
  MutexLock lock(mutex_);
  store_.Compact();
  pages_.clear();
  changed_.notify_all();
}

void FakeClient::EndWatches(const Resource& resource, absl::Status status) {
  MutexLock lock(mutex_);
  Watches& watches = watches_[resource.GroupResource()];
  ++watches.ended;
  watches.end_status = std::move(status);
  changed_.notify_all();
}

std::vector<Call> FakeClient::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

int FakeClient::CountCalls(Verb verb, const std::string& where) const {
  MutexLock lock(mutex_);
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [&](const Call& call) {
    return call.verb == verb && (where == "*" || where == WhereOf(call.target));
  }));
}

void FakeClient::ClearCalls() {
  MutexLock lock(mutex_);
  calls_.clear();
}

absl::Status FakeClient::Begin(Call call, std::optional<Fault>& after) {
  const Verb verb = call.verb;
  const std::string where = WhereOf(call.target);
  std::function<absl::Status(const Call&)> hook;
  {
    MutexLock lock(mutex_);
    calls_.push_back(call);
    hook = hook_;
  }
  if (hook) YM_RETURN_IF_ERROR(hook(call));
  MutexLock lock(mutex_);
  auto it = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.verb == verb && (fault.where == "*" || fault.where == where);
  });
  if (it == faults_.end()) return absl::OkStatus();
  const Fault fault = *it;
  if (--it->times == 0) faults_.erase(it);
  if (fault.when == FaultWhen::kBeforeEffect) return fault.status;
  after = fault;
  return absl::OkStatus();
}

absl::StatusOr<json> FakeClient::Write(
    Call call, const std::function<absl::StatusOr<ObjectPtr>(FakeStore&)>& effect) {
  std::optional<Fault> after;
  YM_RETURN_IF_ERROR(Begin(std::move(call), after));
  MutexLock lock(mutex_);
  const absl::StatusOr<ObjectPtr> object = effect(store_);
  changed_.notify_all();
  if (after) return after->status;
  if (!object.ok()) return object.status();
  return **object;
}

}  // namespace yardmaster::kube
