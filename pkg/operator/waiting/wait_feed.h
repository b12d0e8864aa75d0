// Watches the jobs with the label yardmaster.dev/wait, and says which have changed. JobSets are
// watched where the cluster serves them, which is asked again every half minute, so that they may
// be installed later.
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
    // The job of that key (wait_controller.h) came, changed, lost its label or is gone.
    std::function<void(const std::string& key)> changed;
    // Every failed call.
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
  // True: it is served, and watched from now on.
  bool Serve(const kube::Resource& resource);

  kube::Client& client_;
  const Handlers handlers_;
  const kube::Timing timing_;
  std::vector<Watch> watches_;  // of the thread, and of Stop after it
  std::jthread thread_;
};

}  // namespace yardmaster::op
