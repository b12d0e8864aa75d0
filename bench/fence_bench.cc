// What it costs a new leader to fence the ledger: every unfinished Gang gets its token, in one
// small write each, before the first commit.
//
//   fence_bench [GANGS] [WORKERS]                over the API server in memory
//   fence_bench GANGS WORKERS KUBECONFIG         over a real one, which has the CRDs; the Gangs are
//                                                made in the namespace "default", and stay
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/config/kubeconfig.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/rest_client.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::extender {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point began) {
  return std::chrono::duration<double>(SteadyClock::now() - began).count();
}

// A placed Gang, as the API server returns it.
api::Gang Placed(int number, int workers) {
  api::Gang gang;
  gang.metadata.name = StrCat("job-fence-", number);
  gang.metadata.namespace_name = "default";
  gang.owner = {"batch/v1", "Job", StrCat("fence-", number), StrCat("uid-", number), false};
  gang.job.workers = workers;
  gang.job.gpus_per_worker = 8;
  gang.status.plan_generation = 1;
  for (int rank = 0; rank < workers; ++rank) {
    gang.status.assignments.push_back(
        {rank, StrCat("p00s00h", number, "x", rank), "p00", "p00s00", {0}});
  }
  return gang;
}

int MakeGangs(kube::Client& client, int gangs, int workers) {
  std::atomic<int> failed = 0;
  ParallelFor(static_cast<std::size_t>(gangs), 16, [&](std::size_t i) {
    const api::Gang gang = Placed(static_cast<int>(i), workers);
    auto made = client.Create({kube::Gangs(), "default", "", ""}, api::EncodeGang(gang), {});
    if (!made.ok()) {
      if (!absl::IsAlreadyExists(made.status())) ++failed;
      return;
    }
    nlohmann::json placed = api::EncodeGang(gang);
    placed["metadata"]["resourceVersion"] = (*made)["metadata"]["resourceVersion"];
    const kube::Target status{kube::Gangs(), "default", gang.metadata.name, "status"};
    if (!client.Replace(status, placed, {}).ok()) ++failed;
  });
  return failed;
}

void Measure(kube::Client& client, int gangs, std::int64_t& token) {
  double alone = 0;
  for (const std::size_t threads : {1, 8, 32}) {
    state::ClusterCache cache;
    ++token;
    const FakeClock clock;
    GangBackoff backoff(clock);
    Ledger ledger(client, cache, backoff,
                  {[&token] { return token; }, [&token](std::int64_t above) { token = above + 1; }},
                  {nullptr, threads});
    PassReport report;
    auto began = SteadyClock::now();
    bool leads = ledger.BeginPass(report);
    if (!leads && report.errors.empty()) {  // the ledger's token was above ours
      began = SteadyClock::now();
      leads = ledger.BeginPass(report);
    }
    const double seconds = SecondsSince(began);
    if (threads == 1) alone = seconds;
    std::printf("%6d gangs, %2zu threads: %7.3f s, %6.3f ms a gang, %5.2fx, %d fenced%s\n", gangs,
                threads, seconds, seconds * 1000 / gangs, alone / seconds, report.fenced,
                leads ? "" : ", FAILED");
    for (const std::string& error : report.errors) std::printf("  %s\n", error.c_str());
  }
}

int Main(int argc, char** argv) {
  const int gangs = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int workers = argc > 2 ? std::atoi(argv[2]) : 16;
  std::int64_t token = 0;
  if (argc <= 3) {
    FakeClock clock;
    kube::FakeClient client(clock);
    if (MakeGangs(client, gangs, workers) != 0) return 1;
    Measure(client, gangs, token);
    return 0;
  }
  kube::PrepareProcessForHttp();
  auto config = config::LoadClientConfig({.kubeconfig = argv[3]});
  if (!config.ok()) {
    std::printf("%s\n", MessageOf(config.status()).c_str());
    return 1;
  }
  config->qps = 0;
  RealClock clock;
  kube::RealSleeper sleeper;
  auto client = kube::MakeRestClient(*config, {clock, sleeper, 1});
  if (!client.ok() || MakeGangs(**client, gangs, workers) != 0) return 1;
  Measure(**client, gangs, token);
  return 0;
}

}  // namespace
}  // namespace yardmaster::extender

int main(int argc, char** argv) { return yardmaster::extender::Main(argc, argv); }
