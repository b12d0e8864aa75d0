// WaitFeed watches the Jobs and JobSets with the label yardmaster.dev/wait and reports those that
// have changed. If the cluster does not serve a kind, the feed asks again every 30 s, because
// JobSet may be installed later.
//
// Thread safety: Start and Stop from one thread. Lifetimes: the client and what `timing` refers to
// outlive the feed.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

#include "pkg/kube/client.h"
#include "pkg/kube/informer.h"
#include "pkg/kube/object_sink.h"
#include "pkg/kube/timing.h"

namespace yardmaster::op {

class WaitFeed {
 public:
  struct Handlers {
    // The job of this key (wait_controller.h) was created, changed or deleted, or lost its label.
    std::function<void(const std::string& key)> changed;
    // Called with the status of every failed call.
    std::function<void(const absl::Status&)> failed = {};
  };

  WaitFeed(kube::Client& client, Handlers handlers, kube::Timing timing)
      : client_(client), handlers_(std::move(handlers)), timing_(timing) {}
  ~WaitFeed() { Stop(); }
  WaitFeed(const WaitFeed&) = delete;
  WaitFeed& operator=(const WaitFeed&) = delete;

  void Start();
  void Stop();

 private:
  struct Watch {
    std::unique_ptr<kube::CallbackSink> sink;
    std::unique_ptr<kube::Informer> informer;
  };
  void Run(const std::stop_token& stop);
  // Returns true if the cluster serves the resource; then the feed watches it.
  bool Serve(const kube::Resource& resource);

  kube::Client& client_;
  const Handlers handlers_;
  const kube::Timing timing_;
  std::vector<Watch> watches_;  // used by the thread, and by Stop after it has ended
  std::jthread thread_;
};

}  // namespace yardmaster::op
