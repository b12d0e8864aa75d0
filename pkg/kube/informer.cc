#include "pkg/kube/informer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pkg/base/run_once.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

// A watch that ends sooner than this without an event is treated as failed, or a broken server
// would be asked in a tight loop.
constexpr std::int64_t kShortWatchMs = 1000;
constexpr int kMaxFruitlessWatches = 5;
// The longest delay between two tries. Lists that are at least this far apart need no other.
constexpr std::int64_t kListsApartMs = 30'000;
// A streamed list has this long. Servers and proxies that do not know what was asked of them send
// the objects and never say that the list has ended; processes wait for their first lists for two
// minutes.
constexpr int kStreamedListSeconds = 20;

}  // namespace

Informer::Informer(Client& client, Resource resource, InformerOptions options, ObjectSink& sink,
                   InformerHandlers handlers, Timing timing)
    : client_(client),
      target_{std::move(resource), options.ns},
      options_(std::move(options)),
      sink_(sink),
      handlers_(std::move(handlers)),
      timing_(timing),
      random_(timing.seed),
      backoff_(random_.Next()),
      relist_backoff_(random_.Next()),
      can_stream_(options_.stream_lists) {}

Informer::~Informer() { Stop(); }

void Informer::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
}

void Informer::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

absl::Status Informer::WaitForSync(std::int64_t timeout_ms, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, stop, std::chrono::milliseconds(timeout_ms),
                    [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return synced_ || stopped_; });
  if (synced_) return absl::OkStatus();
  if (stopped_ || stop.stop_requested()) return absl::CancelledError("the informer was stopped");
  return absl::DeadlineExceededError(
      StrCat(target_.resource.GroupResource(), " not listed within ", timeout_ms, " ms",
             last_error_.ok() ? "" : "; last error: ", MessageOf(last_error_)));
}

bool Informer::HasSynced() const {
  MutexLock lock(mutex_);
  return synced_;
}

std::int64_t Informer::LastContactMs() const {
  MutexLock lock(mutex_);
  return last_contact_ms_;
}

InformerStats Informer::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void Informer::Run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const absl::Status listed = Contain([&] { return ReadList(stop); });
    if (stop.stop_requested()) return;
    if (!listed.ok()) {
      Fail(listed);
      timing_.sleeper.Sleep(std::max(backoff_.NextMs(), RetryAfterMs(listed)), stop);
      continue;
    }
    const absl::Status watched = Contain([&] { WatchUntilListIsNeeded(stop); });
    if (watched.ok() || stop.stop_requested()) continue;
    Fail(watched);
    timing_.sleeper.Sleep(backoff_.NextMs(), stop);
  }
}

absl::Status Informer::ReadList(std::stop_token stop) {
  const bool stream = can_stream_ && std::exchange(stream_next_, true);
  if (!stream) return ReadPages(stop);
  const absl::Status streamed = StreamList(stop);
  if (!absl::IsInvalidArgument(streamed)) {
    stream_next_ = streamed.ok();
    return streamed;
  }
  can_stream_ = false;  // the server does not know how
  return ReadPages(stop);
}

absl::Status Informer::ReadPages(std::stop_token stop) {
  ListOptions options;
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  options.limit = options_.page_size;
  sink_.BeginList();
  for (;;) {
    YM_ASSIGN_OR_RETURN(const PageEnd page,
                        client_.ReadPage(target_, options, [&](JsonView object) {
                          if (stop.stop_requested()) return;
                          Deliver(object, [&] { sink_.Listed(object); });
                        }));
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    Contact("");
    options = NextPage(std::move(options), page, options_.page_size);
    if (!page.continue_token.empty()) continue;
    EndList(page.resource_version, /*streamed=*/false);
    return absl::OkStatus();
  }
}

// Goes on as the watch once the list is complete, until that ends.
absl::Status Informer::StreamList(std::stop_token stop) {
  WatchOptions options;
  options.send_initial_events = true;
  options.timeout_seconds = kStreamedListSeconds;
  sink_.BeginList();
  const std::int64_t started_ms = timing_.clock.SteadyMs();
  bool listing = true;
  const absl::Status status = Watch(std::move(options), stop, [&](const WatchEvent& event) {
    if (!listing) return HandleEvent(event);
    if (EndsInitialEvents(event)) {
      listing = false;
      return EndList(ResourceVersionOf(event.object), /*streamed=*/true);
    }
    // Behind its snapshot the server sends what has changed since, before it says that the list has
    // ended.
    if (event.type == WatchEventType::kDeleted) {
      Deliver(event.object, [&] { sink_.Remove(event.object); });
    } else if (event.type != WatchEventType::kBookmark) {
      Deliver(event.object, [&] { sink_.Listed(event.object); });
    }
    Contact("");
  });
  if (!listing) {
    if (!status.ok() && !stop.stop_requested()) Fail(status);
    return absl::OkStatus();
  }
  const std::int64_t lasted_ms = timing_.clock.SteadyMs() - started_ms;
  if (lasted_ms >= kStreamedListSeconds * std::int64_t{1000}) can_stream_ = false;
  return status.ok() ? absl::UnavailableError("the streamed list ended before its last object")
                     : status;
}

absl::Status Informer::Watch(WatchOptions options, std::stop_token stop,
                             const std::function<void(const WatchEvent&)>& on_event) {
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  {
    MutexLock lock(mutex_);
    ++stats_.watches;
  }
  return client_.Watch(target_, options, stop, on_event);
}

void Informer::WatchUntilListIsNeeded(std::stop_token stop) {
  int fruitless = 0;
  while (!stop.stop_requested()) {
    WatchOptions options;
    options.resource_version = version_;
    options.timeout_seconds = WatchSeconds();
    const std::int64_t events_before = stats().events;
    const std::int64_t started_ms = timing_.clock.SteadyMs();
    const absl::Status status =
        Watch(std::move(options), stop, [this](const WatchEvent& event) { HandleEvent(event); });
    if (stop.stop_requested()) return;
    const bool fruitful = stats().events != events_before;
    const std::int64_t lasted_ms = timing_.clock.SteadyMs() - started_ms;
    if (fruitful) fruitless = 0;
    if (status.ok() && (fruitful || lasted_ms >= kShortWatchMs)) {
      fruitless = 0;
      continue;
    }
    Fail(status.ok() ? absl::UnavailableError("the watch ended at once, without an event")
                     : status);
    const bool too_old = absl::IsOutOfRange(status);
    // Ordinary: the server forgets what is minutes old. The watch that ended before this one may
    // have lasted as long.
    if (too_old && timing_.clock.SteadyMs() - listed_ms_ >= kListsApartMs) {
      relist_backoff_.Reset();
      return;
    }
    JitteredBackoff& backoff = too_old ? relist_backoff_ : backoff_;
    timing_.sleeper.Sleep(std::max(backoff.NextMs(), RetryAfterMs(status)), stop);
    if (too_old || ++fruitless >= kMaxFruitlessWatches) return;
  }
}

void Informer::EndList(const std::string& version, bool streamed) {
  listed_ms_ = timing_.clock.SteadyMs();
  bool first = false;
  {
    // Before the sink is told of the end, so that its listeners see the list counted.
    MutexLock lock(mutex_);
    ++stats_.lists;
    if (streamed) ++stats_.streamed_lists;
    first = !synced_;
  }
  sink_.EndList(version);
  version_.clear();  // after a restored backup it is lower than before
  Contact(version);
  if (!first) return;
  if (handlers_.synced) handlers_.synced();
  MutexLock lock(mutex_);
  synced_ = true;
  changed_.notify_all();
}

void Informer::HandleEvent(const WatchEvent& event) {
  backoff_.Reset();
  {
    MutexLock lock(mutex_);
    ++stats_.events;
  }
  const std::string version = ResourceVersionOf(event.object);
  if (event.type == WatchEventType::kDeleted) {
    Deliver(event.object, [&] { sink_.Remove(event.object); });
  } else if (event.type == WatchEventType::kBookmark) {
    sink_.Advance(version);
  } else {
    Deliver(event.object, [&] { sink_.Put(event.object); });
  }
  Contact(version);
}

void Informer::Deliver(JsonView object, absl::FunctionRef<void()> call) {
  const absl::Status status = Contain(call);
  if (!status.ok()) Fail(Annotate(status, StrCat(target_.resource.kind, " ", KeyOf(object))));
}

void Informer::Contact(const std::string& version) {
  if (!version.empty()) version_ = version;
  MutexLock lock(mutex_);
  last_contact_ms_ = timing_.clock.SteadyMs();
}

void Informer::Fail(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
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
