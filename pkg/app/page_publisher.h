// PagePublisher serves the operator's page. After changes it publishes a frame of the cluster, at
// most once a second while a browser is connected, and otherwise every ten seconds for the history.
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
  // `observes`: whether pods of other controllers are shown as the gangs that would be created for
  // them.
  PagePublisher(const state::ClusterCache& cache, Runtime& runtime, bool observes = false);

  // Serves on `address` ("host:port"). Errors: an invalid address, or one that cannot be bound.
  absl::Status Start(const std::string& address);
  void Stop();

  // Sets the network as planned by this process; null: it does not lead.
  void SetPicture(std::shared_ptr<const page::NetworkPicture> picture);
  // Sets the moves, in the form of page/moves_block.h.
  void SetMoves(page::Text moves);
  // Adds an event that does not follow from a change of objects.
  void Note(page::TimelineEvent event);

 private:
  void Run(std::stop_token stop);
  void PublishFrame();
  void KeepEvents(std::vector<page::TimelineEvent> events);

  const state::ClusterCache& cache_;
  Runtime& runtime_;
  const bool observes_;
  page::Hub hub_;
  state::SnapshotBuilder builder_;  // used by the publishing thread
  metrics::Loop loop_;
  state::ClusterState previous_;  // used by the publishing thread
  bool has_previous_ = false;     // used by the publishing thread
  Mutex mutex_;
  std::deque<page::TimelineEvent> events_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::shared_ptr<const page::NetworkPicture> picture_ ABSL_GUARDED_BY(mutex_);
  page::Text moves_ ABSL_GUARDED_BY(mutex_);         // null: not computed yet
  std::uint64_t notes_ ABSL_GUARDED_BY(mutex_) = 0;  // counts SetPicture, SetMoves and Note
  std::unique_ptr<http::Server> server_;
  std::jthread thread_;
};

}  // namespace yardmaster::app
