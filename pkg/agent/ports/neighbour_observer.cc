#include "pkg/agent/ports/neighbour_observer.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

void NeighbourObserver::Step(std::int64_t steady_ms) {
  if (steady_ms < next_ms_) return;
  const std::vector<LocalNicPort> ports = ports_();
  if (ports.empty()) return;  // an empty document would take back what an earlier process wrote
  next_ms_ = steady_ms + options_.interval_ms;
  const auto text = options_.command.empty() ? ReadTextFile(options_.file, options_.limits)
                                             : RunForText(options_.command, options_.limits);
  const auto neighbours = text.ok() ? ParseLldpNeighbours(*text) : text.status();
  std::vector<PortNeighbour> seen;
  if (neighbours.ok()) seen = NeighboursOfPorts(options_.sysfs_root, ports, *neighbours);
  const MutexLock lock(mutex_);
  ++reads_;
  if (!neighbours.ok()) {
    ++failures_;
    problem_ = Annotate(neighbours.status(), "neighbours not read");
    return;
  }
  problem_ = absl::OkStatus();
  seen_ = std::move(seen);
  NeighbourDocument document = DocumentOf(options_.node, seen_, options_.names);
  document_ = std::move(document.text);
  if (document.unknown > 0) {
    problem_ = absl::NotFoundError(
        StrCat("neighbours of ", Count(document.unknown, "port"), " are not in --lldp-names-file"));
  }
}

std::vector<PortNeighbour> NeighbourObserver::seen() const {
  const MutexLock lock(mutex_);
  return seen_;
}

std::optional<std::string> NeighbourObserver::document() const {
  const MutexLock lock(mutex_);
  return document_;
}

absl::Status NeighbourObserver::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

std::int64_t NeighbourObserver::reads() const {
  const MutexLock lock(mutex_);
  return reads_;
}

std::int64_t NeighbourObserver::failures() const {
  const MutexLock lock(mutex_);
  return failures_;
}

}  // namespace yardmaster::agent
