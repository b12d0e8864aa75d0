// Bodies that kube-scheduler and the API server post: for all bytes, each call ends in an error or
// in JSON, and a filter names every node that it was asked about once, as passed or as failed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/extender/webhook/gate_admission.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/extender/webhook/wire.h"
#include "pkg/fabric/testing/fabrics.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

// Four hosts; the gang team/trainingjob-a holds the first two.
std::shared_ptr<const extender::View> SmallView() {
  auto snapshot = std::make_shared<plan::Snapshot>();
  snapshot->places =
      std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric::SmallHpn(1, 2, 2)));
  snapshot->cluster.places = snapshot->places;
  snapshot->cluster.hosts.resize(4);
  plan::JobState gang;
  gang.job.key = {"team", "trainingjob-a"};
  gang.job.workers = 2;
  plan::Assignment assignment;
  for (int h = 0; h < 2; ++h) assignment.host_of_rank.emplace_back(h);
  gang.assignment = assignment;
  snapshot->jobs.push_back(gang);
  std::map<NamespacedName, extender::GangNote> notes;
  notes[gang.job.key].rank_bases = {{"", 0}};
  return std::make_shared<const extender::View>(std::move(snapshot), std::move(notes));
}

void CheckFilter(std::string_view body, std::string_view answer) {
  const auto json = nlohmann::json::parse(answer);
  extender::ArgsReader reader;
  const auto args = reader.Read(body);
  if (!args.ok()) std::abort();  // it was answered
  if (!json.value("Error", "").empty()) return;
  std::map<std::string, int> told;
  const auto passed = json.find("NodeNames");
  if (passed != json.end()) {
    for (const auto& name : *passed) ++told[name.get<std::string>()];
  }
  for (const char* field : {"FailedNodes", "FailedAndUnresolvableNodes"}) {
    const auto failed = json.find(field);
    if (failed == json.end()) continue;
    for (const auto& item : failed->items()) ++told[item.key()];
  }
  for (const std::string_view name : args->node_names) {
    if (told.find(std::string(name)) == told.end()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const extender::View> view = SmallView();
  extender::Webhook webhook;
  webhook.Publish(view);
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto answer = webhook.Filter(body); answer.ok()) CheckFilter(body, *answer);
  for (const auto call : {&extender::Webhook::Prioritize, &extender::Webhook::Preempt}) {
    const auto answer = (webhook.*call)(body);
    if (answer.ok() && !nlohmann::json::accept(*answer)) std::abort();
  }
  const auto admitted = extender::AdmitBehindGate(body);
  if (admitted.ok() && !nlohmann::json::accept(*admitted)) std::abort();
  return 0;
}
