#include "bench/half_placed_view.h"

#include <map>
#include <utility>

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::bench {

std::shared_ptr<const extender::View> HalfPlacedView(int hosts, extender::View::Pods pods) {
  auto snapshot = std::make_shared<plan::Snapshot>();
  snapshot->places = std::make_shared<const fabric::Places>(
      fabric::PlacesOf(fabric::SmallHpn(1, hosts / 136, 136)));
  snapshot->cluster.places = snapshot->places;
  snapshot->cluster.hosts.resize(static_cast<std::size_t>(hosts));
  plan::JobState gang;
  gang.job.key = {"team", "trainingjob-a"};
  gang.job.workers = hosts / 2;
  plan::Assignment assignment;
  for (int h = 0; h < gang.job.workers; ++h) assignment.host_of_rank.emplace_back(h);
  gang.assignment = assignment;
  snapshot->jobs.push_back(gang);
  std::map<NamespacedName, extender::GangNote> notes;
  notes[gang.job.key].rank_bases = {{"", 0}};
  return std::make_shared<const extender::View>(snapshot, notes, std::move(pods));
}

}  // namespace yardmaster::bench
