#include "pkg/operator/queue/workload_feed.h"

#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/run_once.h"

namespace yardmaster::op {

namespace {

constexpr std::int64_t kDiscoverAgainMs = 30'000;

}  // namespace

WorkloadFeed::WorkloadFeed(kube::Client& client, WorkloadCache& cache, Handlers handlers,
                           kube::Timing timing)
    : client_(client), cache_(cache), handlers_(std::move(handlers)), timing_(timing) {}

void WorkloadFeed::Serve(const std::string& version) {
  kube::InformerOptions options;
  options.label_selector = api::kJobLabel;
  options.stream_lists = true;
  informer_ = std::make_unique<kube::Informer>(
      client_, KueueWorkloads(version), options, cache_,
      kube::InformerHandlers{.synced =
                                 [this, version] {
                                   cache_.SetService(QueueService::kServed, version);
                                   if (handlers_.known) handlers_.known();
                                 },
                             .failed = handlers_.failed},
      timing_);
  informer_->Start();
}

bool WorkloadFeed::Discover() {
  for (const char* version : {"v1beta2", "v1beta1"}) {
    kube::ListOptions one;
    one.limit = 1;
    const auto page = client_.ReadPage({KueueWorkloads(version)}, one, [](JsonView) {});
    if (page.ok()) {
      Serve(version);
      return true;
    }
    if (absl::IsNotFound(page.status())) continue;
    if (handlers_.failed) handlers_.failed(page.status());
    return false;
  }
  cache_.SetService(QueueService::kAbsent);
  if (handlers_.known) handlers_.known();
  return false;
}

void WorkloadFeed::Run(const std::stop_token& stop) {
  bool known = false;
  while (!stop.stop_requested() && !known) {
    const absl::Status status = Contain([&] { known = Discover(); });
    if (!status.ok() && handlers_.failed) handlers_.failed(status);
    if (!known && !timing_.sleeper.Sleep(kDiscoverAgainMs, stop)) return;
  }
}

void WorkloadFeed::Start() {
  cache_.SetService(QueueService::kUnknown);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void WorkloadFeed::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (informer_ != nullptr) informer_->Stop();
}

}  // namespace yardmaster::op
