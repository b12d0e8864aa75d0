#include "pkg/placement/reasons/resource_shortages.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::placement {

namespace {

constexpr std::string_view kHostPort = "yardmaster.dev/host-port-";
constexpr std::string_view kOnePerHost = "yardmaster.dev/one-per-host-";
constexpr std::string_view kComputeDomain = "compute-domain";

bool IsBytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.rfind("hugepages-", 0) == 0;
}

}  // namespace

std::string FormatAmount(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") {
    return amount % 1000 == 0 ? StrCat(amount / 1000) : StrCat(amount, "m");
  }
  if (!IsBytes(resource)) return StrCat(amount);
  // The largest unit, up to Gi, that gives the amount as a whole number.
  static constexpr std::string_view kUnits[] = {"", "Ki", "Mi", "Gi"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && amount != 0 && amount % 1024 == 0) {
    amount /= 1024;
    ++unit;
  }
  return StrCat(amount, kUnits[unit]);
}

void ResourceShortages::Note(fabric::HostId host,
                             const std::optional<WorkerNeed::Amount>& shortage) {
  if (!shortage) return;
  const auto& have = empty_ ? *cluster_.resources.allocatable : cluster_.resources.free;
  const std::int64_t here = have[host.index() * cluster_.resources.columns() + shortage->column];
  Shortage& entry = by_column_[shortage->column];
  entry.best = entry.hosts == 0 ? here : std::max(entry.best, here);
  entry.requested = shortage->amount;
  ++entry.hosts;
}

void ResourceShortages::AppendReasons(std::vector<Reason>& reasons) const {
  for (const auto& [column, shortage] : by_column_) {
    const std::string& name = (*cluster_.resources.names)[column];
    std::string message = Count(shortage.hosts, "host");
    if (name.rfind(kHostPort, 0) == 0) {
      message += StrCat(" whose host port ", name.substr(kHostPort.size()), " is taken");
    } else if (name.rfind(kOnePerHost, 0) == 0 &&
               name.substr(kOnePerHost.size()) == kComputeDomain) {
      message += " with a pod of a ComputeDomain, which has the host's channel";
    } else if (name.rfind(kOnePerHost, 0) == 0) {
      message += " with a pod that the workers' anti-affinity excludes";
    } else {
      message +=
          StrCat(" short of ", name, ": ", FormatAmount(name, shortage.requested), " requested, ",
                 FormatAmount(name, std::max<std::int64_t>(0, shortage.best)),
                 empty_ ? " in all" : " free");
    }
    reasons.push_back({ReasonCode::kInsufficientResources, workload::TopologyLevel::kFabric,
                       shortage.hosts, std::move(message)});
  }
}

}  // namespace yardmaster::placement
