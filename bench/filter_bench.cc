// The webhook's handler, from body to body, over the number of nodes a call names. Target: p99
// below 2 ms at 2,040 nodes, because kube-scheduler's cycle waits for every call.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/half_placed_view.h"
#include "benchmark/benchmark.h"
#include "pkg/base/strings.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::extender {
namespace {

constexpr int kPodsPerHost = 8;

std::string UidOf(int pod) { return StrCat("uid-of-an-ordinary-pod-", pod); }

// Ordinary pods of one GPU each, kPodsPerHost on every host.
View::Pods MakePods(int hosts) {
  View::Pods pods;
  for (int p = 0; p < hosts * kPodsPerHost; ++p) {
    api::Pod pod;
    pod.metadata.name = StrCat("p", p);
    pod.metadata.namespace_name = "default";
    pod.metadata.uid = UidOf(p);
    workload::SetAmount(pod.requests, api::kGpuResource, 1);
    pods.Put(std::make_shared<const api::Pod>(std::move(pod)));
  }
  return pods;
}

std::string Body(const View& view, const char* labels) {
  std::string names;
  for (fabric::HostId host : view.snapshot().places->hosts()) {
    names += StrCat(names.empty() ? "\"" : ",\"", view.snapshot().places->name(host), "\"");
  }
  return StrCat(
      R"({"Pod":{"metadata":{"name":"a-3","namespace":"team","uid":"u","labels":)", labels,
      R"(},"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}},)",
      R"("NodeNames":[)", names, "]}");
}

void Run(benchmark::State& state, const char* labels) {
  Webhook webhook;
  const auto view = bench::HalfPlacedView(static_cast<int>(state.range(0)));
  webhook.Publish(view);
  const std::string body = Body(*view, labels);
  std::vector<double> ms;
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    auto answer = webhook.Filter(body);
    if (!answer.ok()) state.SkipWithError("filter failed");
    benchmark::DoNotOptimize(answer);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
                     .count());
  }
  std::sort(ms.begin(), ms.end());
  state.counters["p99_ms"] = ms[ms.size() * 99 / 100];
}

// One call of preemption with a hundred candidates, all of whose pods would go. `walk`: as if each
// candidate's victims were looked for among all pods, one after another, as they were once.
void Preempt(benchmark::State& state, bool walk) {
  const int hosts = static_cast<int>(state.range(0));
  const View::Pods pods = MakePods(hosts);
  const auto view = bench::HalfPlacedView(hosts, pods);
  Webhook webhook;
  webhook.Publish(view);
  std::string candidates;
  for (int h = 0; h < 100; ++h) {
    std::string victims;
    for (int p = 0; p < kPodsPerHost; ++p) {
      victims += StrCat(p == 0 ? "" : ",", R"({"UID":")", UidOf(h * kPodsPerHost + p), R"("})");
    }
    candidates += StrCat(h == 0 ? "" : ",", "\"", view->snapshot().places->name(fabric::HostId(h)),
                         R"(":{"Pods":[)", victims, "]}");
  }
  const std::string body = StrCat(
      R"({"Pod":{"metadata":{"name":"x","namespace":"team","uid":"u"},"spec":{"containers":)",
      R"([{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}},)",
      R"("NodeNameToMetaVictims":{)", candidates, "}}");
  for (auto _ : state) {
    auto answer = webhook.Preempt(body);
    if (!answer.ok()) state.SkipWithError("preempt failed");
    benchmark::DoNotOptimize(answer);
    for (int h = 0; walk && h < 100; ++h) {
      const std::string uid = UidOf(h * kPodsPerHost);
      std::int64_t freed = 0;
      for (const auto& pod : pods) {
        if (pod->metadata.uid == uid) freed += pod->gpus();
      }
      benchmark::DoNotOptimize(freed);
    }
  }
}
void PreemptIndexed(benchmark::State& state) { Preempt(state, false); }
void PreemptByWalks(benchmark::State& state) { Preempt(state, true); }

void GangPod(benchmark::State& state) {
  Run(state, R"({"yardmaster.dev/job":"a","yardmaster.dev/rank":"3"})");
}
void OrdinaryPod(benchmark::State& state) { Run(state, "{}"); }

BENCHMARK(GangPod)->Arg(272)->Arg(2040)->Arg(16320)->Unit(benchmark::kMillisecond);
BENCHMARK(PreemptIndexed)->Arg(2040)->Arg(16320)->Unit(benchmark::kMillisecond);
BENCHMARK(PreemptByWalks)->Arg(2040)->Arg(16320)->Unit(benchmark::kMillisecond);
BENCHMARK(OrdinaryPod)->Arg(272)->Arg(2040)->Arg(16320)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace yardmaster::extender
