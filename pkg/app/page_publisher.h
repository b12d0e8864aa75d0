// Serves the operator's page: makes a frame of the cluster at most once a second while a browser
// looks, every ten seconds for the history otherwise, and only after a change.
//
// Thread safety: SetPicture, SetMoves and Note from any thread; the rest from the main thread.
// Lifetimes: what is passed in outlives the publisher.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"

#include "pkg/app/runtime.h"
#include "pkg/base/mutex.h"
#include "pkg/metrics/loop.h"
#include "pkg/page/changes.h"
#include "pkg/page/hub.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::app {

class PagePublisher {
 public:
  // `observes`: pods of other controllers are shown as the gangs that would be made of them.
  PagePublisher(const state::ClusterCache& cache, Runtime& runtime, bool observes = false);

  // Serves on `address` ("host:port"). Errors: of the address, or of binding it.
  absl::Status Start(const std::string& address);
  void Stop();

  // The network as planned by this process; null: it does not lead.
  void SetPicture(std::shared_ptr<const page::NetworkPicture> picture);
  // Moves as page/moves_block.h has them.
  void SetMoves(page::Text moves);
  // Something that is not seen from a change of objects.
  void Note(page::TimelineEvent event);

 private:
  void Run(std::stop_token stop);
  void PublishFrame();
  void KeepEvents(std::vector<page::TimelineEvent> events);

  const state::ClusterCache& cache_;
  Runtime& runtime_;
  const bool observes_;
  page::Hub hub_;
  state::SnapshotBuilder builder_;  // the publishing thread's
  metrics::Loop loop_;
  state::ClusterState previous_;  // the publishing thread's
  bool has_previous_ = false;     // the publishing thread's
  Mutex mutex_;
  std::deque<page::TimelineEvent> events_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::shared_ptr<const page::NetworkPicture> picture_ ABSL_GUARDED_BY(mutex_);
  page::Text moves_ ABSL_GUARDED_BY(mutex_);         // null: none were looked for
  std::uint64_t notes_ ABSL_GUARDED_BY(mutex_) = 0;  // counts SetPicture, SetMoves and Note
  std::unique_ptr<http::Server> server_;
  std::jthread thread_;
};

}  // namespace yardmaster::app
