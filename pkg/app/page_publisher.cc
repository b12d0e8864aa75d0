#include "pkg/app/page_publisher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/observe/pods_as_gangs.h"
#include "pkg/http/router.h"
#include "pkg/page/cluster_page.h"
#include "pkg/state/guessed_places.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kTickMs = 500;
constexpr std::int64_t kLiveMs = 1'000;      // between frames while a browser looks
constexpr std::int64_t kHistoryMs = 10'000;  // between frames otherwise
constexpr std::size_t kMaxEvents = 200;
// A page is a handful of connections; the API servers' proxies come from few addresses. Half of the
// connections may wait for events (HubOptions::waiters), and a quarter is out of one address'
// reach.
constexpr int kMaxConnections = 128;
constexpr int kMaxConnectionsOfPeer = 96;

}  // namespace

PagePublisher::PagePublisher(const state::ClusterCache& cache, Runtime& runtime, bool observes)
    : cache_(cache),
      runtime_(runtime),
      observes_(observes),
      hub_(runtime.clock()),
      loop_("page", runtime.registry(), runtime.log()) {}

absl::Status PagePublisher::Start(const std::string& address) {
  YM_ASSIGN_OR_RETURN(http::ServerOptions options, ParseBindAddress(address));
  auto router = std::make_shared<http::Router>();
  hub_.AddRoutes(*router);
  options.io_threads = 1;
  options.limits.connections = kMaxConnections;
  options.limits.reserved_connections = 0;
  options.limits.connections_per_peer = kMaxConnectionsOfPeer;
  options.limits.body_bytes = 1024;
  options.limits.methods = {"GET", "HEAD"};
  server_ = std::make_unique<http::Server>(std::move(options), http::HandlerOf(router));
  YM_RETURN_IF_ERROR(Annotate(server_->Start(), StrCat("serving the page on ", address)));
  runtime_.registry().AddGaugeSource("yardmaster_page_frames", "frames of the page that are kept",
                                     [this] { return hub_.frames(); });
  runtime_.registry().AddGaugeSource("yardmaster_page_bytes", "memory of the frames that are kept",
                                     [this] { return hub_.bytes(); });
  runtime_.log().Info("page", {{"port", server_->port()}});
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  return absl::OkStatus();
}

void PagePublisher::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (server_) server_->Stop();
}

void PagePublisher::SetPicture(std::shared_ptr<const page::NetworkPicture> picture) {
  MutexLock lock(mutex_);
  if (picture == nullptr && picture_ == nullptr) return;
  picture_ = std::move(picture);
  ++notes_;
}

void PagePublisher::SetMoves(page::Text moves) {
  MutexLock lock(mutex_);
  const bool as_before = moves_ != nullptr && *moves_ == *moves;
  if (as_before) return;
  moves_ = std::move(moves);
  ++notes_;
}

void PagePublisher::Note(page::TimelineEvent event) {
  MutexLock lock(mutex_);
  events_.push_back(std::move(event));
  ++notes_;
}

void PagePublisher::Run(std::stop_token stop) {
  std::uint64_t seen = 0, published = 0, published_notes = 0;
  bool began = false;
  std::int64_t last_ms = 0, not_before_ms = 0;
  while (!stop.stop_requested()) {
    seen = cache_.WaitForChange(began ? seen : ~0ULL, kTickMs, stop);
    hub_.Tick();
    std::uint64_t notes = 0;
    {
      MutexLock lock(mutex_);
      notes = notes_;
    }
    const std::int64_t now_ms = runtime_.clock().SteadyMs();
    const std::int64_t due_ms =
        std::max(not_before_ms, last_ms + (hub_.watched() ? kLiveMs : kHistoryMs));
    if (began && ((seen == published && notes == published_notes) || now_ms < due_ms)) {
      // A change that came too soon would be waited for without a pause.
      if (seen != published) std::this_thread::sleep_for(std::chrono::milliseconds(kTickMs / 5));
      continue;
    }
    published = seen;
    published_notes = notes;
    last_ms = now_ms;
    began = true;
    const RunResult result = loop_.RunOnce([this] {
      PublishFrame();
      return RunResult{.done = 1};
    });
    if (result.ok()) continue;
    builder_ = state::SnapshotBuilder();
    has_previous_ = false;
    not_before_ms = now_ms + *result.again_ms;
    published = ~0ULL;
  }
}

void PagePublisher::PublishFrame() {
  const std::int64_t begin_ms = runtime_.clock().SteadyMs();
  state::ClusterState cluster = cache_.Take();
  if (observes_) {
    if (cluster.fabrics.empty()) cluster.nodes = state::WithGuessedPlaces(cluster.nodes).nodes;
    cluster = extender::WithGangsOfPods(cluster).cluster;
  }
  if (has_previous_) {
    KeepEvents(page::ChangesBetween(previous_, cluster, runtime_.clock().WallMs()));
  }
  const plan::Snapshot snapshot = builder_.Build(cluster);
  std::shared_ptr<const page::NetworkPicture> picture;
  page::Text events, moves;
  {
    MutexLock lock(mutex_);
    while (events_.size() > kMaxEvents) events_.pop_front();
    events = page::EncodeEvents(events_);
    picture = picture_;
    moves = moves_;
  }
  page::Blocks blocks = page::BlocksOf(cluster, snapshot, picture.get());
  blocks["events"] = std::move(events);
  if (moves != nullptr) blocks["moves"] = std::move(moves);
  hub_.Publish(std::move(blocks), std::move(picture));
  previous_ = std::move(cluster);
  has_previous_ = true;
  runtime_.registry()
      .GetGauge("yardmaster_page_frame_seconds", "time that the last frame of the page took")
      .Set(static_cast<double>(runtime_.clock().SteadyMs() - begin_ms) / 1000);
}

void PagePublisher::KeepEvents(std::vector<page::TimelineEvent> events) {
  MutexLock lock(mutex_);
  for (page::TimelineEvent& event : events) events_.push_back(std::move(event));
}

}  // namespace yardmaster::app
