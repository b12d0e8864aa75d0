#include "pkg/operator/waiting/wait_feed.h"

#include <utility>

#include "pkg/api/suspended_wait.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/object.h"
#include "pkg/operator/waiting/wait_controller.h"
#include "pkg/operator/waiting/waiting_job.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kLookForKindsAgainMs = 30'000;
constexpr const char* kKinds[] = {"Job", "JobSet"};

}  // namespace

bool WaitFeed::Serve(const kube::Resource& resource) {
  kube::ListOptions one;
  one.limit = 1;
  one.label_selector = api::kWaitLabel;
  const auto page = client_.ReadPage({resource}, one, [](JsonView) {});
  if (!page.ok()) {
    if (!absl::IsNotFound(page.status()) && handlers_.failed) handlers_.failed(page.status());
    return false;
  }
  const std::string kind = resource.kind;
  auto sink = std::make_unique<kube::CallbackSink>(
      [this, kind](JsonView job) {
        handlers_.changed(WaitKey(kube::NamespaceOf(job), kind, kube::NameOf(job)));
      },
      [this, kind](const kube::ObjectIdentity& job) {
        handlers_.changed(WaitKey(job.ns, kind, job.name));
      });
  kube::InformerOptions options;
  options.label_selector = api::kWaitLabel;
  options.stream_lists = true;
  auto informer =
      std::make_unique<kube::Informer>(client_, resource, options, *sink,
                                       kube::InformerHandlers{.failed = handlers_.failed}, timing_);
  informer->Start();
  watches_.push_back({std::move(sink), std::move(informer)});
  return true;
}

void WaitFeed::Run(const std::stop_token& stop) {
  std::vector<kube::Resource> left;
  for (const char* kind : kKinds) left.push_back(*ResourceOfWaitingKind(kind));
  while (!stop.stop_requested()) {
    std::erase_if(left, [this](const kube::Resource& resource) {
      bool served = false;
      const absl::Status status = Contain([&] { served = Serve(resource); });
      if (!status.ok() && handlers_.failed) handlers_.failed(status);
      return served;
    });
    if (left.empty() || !timing_.sleeper.Sleep(kLookForKindsAgainMs, stop)) return;
  }
}

void WaitFeed::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void WaitFeed::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (Watch& watch : watches_) watch.informer->Stop();
}

}  // namespace yardmaster::op
