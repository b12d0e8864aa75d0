#include "pkg/kube/informer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

// A watch that ends sooner than this without a word counts as failed, or a broken server would be
// asked in a tight loop.
constexpr std::int64_t kShortWatchMs = 1000;
constexpr int kMaxFruitlessWatches = 5;

}  // namespace

Informer::Informer(Client& client, Resource resource, InformerOptions options,
                   InformerHandlers handlers, Timing timing)
    : client_(client),
      target_{std::move(resource), options.ns},
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      timing_(timing),
      random_(timing.seed),
      backoff_(random_.Next()) {}

Informer::~Informer() { Stop(); }

void Informer::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
}

void Informer::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

absl::Status Informer::WaitForSync(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                    [this] { return synced_ || stopped_; });
  if (synced_) return absl::OkStatus();
  if (stopped_) return absl::CancelledError("the informer was stopped");
  return absl::DeadlineExceededError(
      StrCat(target_.resource.GroupResource(), " not listed within ", timeout_ms, " ms",
             last_error_.ok() ? "" : "; last error: ", MessageOf(last_error_)));
}

bool Informer::HasSynced() const {
  std::lock_guard lock(mutex_);
  return synced_;
}

std::int64_t Informer::LastContactMs() const {
  std::lock_guard lock(mutex_);
  return last_contact_ms_;
}

ObjectPtr Informer::Get(const std::string& key) const {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

std::vector<ObjectPtr> Informer::All() const {
  std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> all;
  all.reserve(objects_.size());
  for (const auto& [key, object] : objects_) all.push_back(object);
  return all;
}

std::size_t Informer::size() const {
  std::lock_guard lock(mutex_);
  return objects_.size();
}

InformerStats Informer::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Informer::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const absl::Status listed = ListOnce(stop);
    if (stop.stop_requested()) return;
    if (!listed.ok()) {
      Fail(listed);
      timing_.sleeper.Sleep(std::max(backoff_.NextMs(), RetryAfterMs(listed)), stop);
      continue;
    }
    WatchUntilListIsNeeded(stop);
  }
}

absl::Status Informer::ListOnce(std::stop_token stop) {
  ListOptions options;
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  options.limit = options_.page_size;
  YM_ASSIGN_OR_RETURN(ListPage list, ListAll(client_, target_, options));
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  TakeList(list);
  return absl::OkStatus();
}

void Informer::WatchUntilListIsNeeded(std::stop_token stop) {
  int fruitless = 0;
  while (!stop.stop_requested()) {
    WatchOptions options;
    options.label_selector = options_.label_selector;
    options.field_selector = options_.field_selector;
    options.resource_version = version_;
    options.timeout_seconds = WatchSeconds();
    const std::int64_t events_before = stats().events;
    const std::int64_t started_ms = timing_.clock.SteadyMs();
    {
      std::lock_guard lock(mutex_);
      ++stats_.watches;
    }
    const absl::Status status = client_.Watch(
        target_, options, stop, [this](const WatchEvent& event) { TakeEvent(event); });
    if (stop.stop_requested()) return;
    const bool fruitful = stats().events != events_before;
    const bool short_lived = timing_.clock.SteadyMs() - started_ms < kShortWatchMs;
    if (fruitful) {
      backoff_.Reset();
      fruitless = 0;
    }
    if (status.ok() && (fruitful || !short_lived)) {
      fruitless = 0;
      continue;
    }
    Fail(status.ok() ? absl::UnavailableError("the watch ended at once, without an event")
                     : status);
    const bool too_old = absl::IsOutOfRange(status);
    if (!too_old || !fruitful) {
      timing_.sleeper.Sleep(std::max(backoff_.NextMs(), RetryAfterMs(status)), stop);
    }
    if (too_old || ++fruitless >= kMaxFruitlessWatches) return;
  }
}

void Informer::TakeList(const ListPage& list) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    ++stats_.lists;
    first = !synced_;
  }
  std::map<std::string, ObjectPtr> listed;
  for (const ObjectPtr& object : list.items) listed[KeyOf(*object)] = object;
  std::vector<ObjectPtr> vanished;
  for (const ObjectPtr& known : All()) {
    if (!listed.contains(KeyOf(*known))) vanished.push_back(known);
  }
  for (const ObjectPtr& object : vanished) Remove(KeyOf(*object), object);
  for (const auto& [key, object] : listed) Put(object);
  Contact(list.resource_version);
  if (!first) return;
  if (handlers_.synced) handlers_.synced();
  std::lock_guard lock(mutex_);
  synced_ = true;
  changed_.notify_all();
}

void Informer::TakeEvent(const WatchEvent& event) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.events;
  }
  if (event.type == WatchEventType::kDeleted) {
    Remove(KeyOf(*event.object), event.object);
  } else if (event.type != WatchEventType::kBookmark) {
    Put(event.object);
  }
  Contact(ResourceVersionOf(*event.object));
}

void Informer::Put(const ObjectPtr& object) {
  const std::string key = KeyOf(*object);
  const ObjectPtr before = Get(key);
  if (before != nullptr && UidOf(*before) != UidOf(*object)) {
    Remove(key, before);
    return Put(object);
  }
  if (before != nullptr && ResourceVersionOf(*before) == ResourceVersionOf(*object)) return;
  {
    std::lock_guard lock(mutex_);
    objects_[key] = object;
  }
  if (before == nullptr) {
    if (handlers_.added) handlers_.added(object);
  } else if (handlers_.updated) {
    handlers_.updated(before, object);
  }
}

void Informer::Remove(const std::string& key, const ObjectPtr& last) {
  {
    std::lock_guard lock(mutex_);
    if (objects_.erase(key) == 0) return;
  }
  if (handlers_.deleted) handlers_.deleted(last);
}

void Informer::Contact(const std::string& version) {
  if (!version.empty()) version_ = version;
  std::lock_guard lock(mutex_);
  last_contact_ms_ = timing_.clock.SteadyMs();
}

void Informer::Fail(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    ++stats_.failures;
    last_error_ = status;
  }
  if (handlers_.failed) handlers_.failed(status);
}

int Informer::WatchSeconds() {
  const int spread = std::max(options_.max_watch_seconds - options_.min_watch_seconds, 0);
  return options_.min_watch_seconds +
         static_cast<int>(random_.Below(static_cast<std::uint64_t>(spread) + 1));
}

}  // namespace yardmaster::kube
