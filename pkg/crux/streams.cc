#include "pkg/crux/streams.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/crux/intensity.h"

namespace yardmaster::crux {
namespace {

Stream Merge(const ContendingJob& job, std::span<const std::int32_t> flows,
             std::span<const std::int32_t> paths) {
  const Flow& first = job.flows[flows.front()];
  Stream stream;
  stream.start = StartOf(job, first);
  stream.every_iterations = first.every_iterations;
  stream.background = first.background;
  for (const std::int32_t f : flows) stream.bytes = std::max(stream.bytes, job.flows[f].bytes);
  std::vector<std::pair<std::int32_t, double>> uses;
  for (const std::int32_t f : flows) {
    const double use = job.flows[f].bytes / stream.bytes;
    job.flows[f].paths.Each(
        paths[f], [&](std::int32_t link, double share) { uses.emplace_back(link, use * share); });
  }
  std::sort(uses.begin(), uses.end());
  for (const auto& [link, use] : uses) {
    if (!stream.links.empty() && stream.links.back() == link) {
      stream.uses.back() += use;
      continue;
    }
    stream.links.push_back(link);
    stream.uses.push_back(use);
  }
  return stream;
}

}  // namespace

std::vector<Stream> StreamsOf(const ContendingJob& job, std::span<const std::int32_t> paths,
                              Merging merging) {
  using Key = std::tuple<std::int32_t, double, std::int32_t, bool>;
  std::map<Key, std::size_t> known;
  std::vector<std::vector<std::int32_t>> members;  // by their first flow
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const Flow& flow = job.flows[f];
    const std::int32_t ring = merging == Merging::kJobs ? 0 : flow.ring;
    std::size_t at = members.size();
    if (ring >= 0) {
      const Key key(ring, StartOf(job, flow), flow.every_iterations, flow.background);
      at = known.emplace(key, members.size()).first->second;
    }
    if (at == members.size()) members.emplace_back();
    members[at].push_back(static_cast<std::int32_t>(f));
  }
  std::vector<Stream> streams;
  streams.reserve(members.size());
  for (const auto& flows : members) streams.push_back(Merge(job, flows, paths));
  return streams;
}

std::size_t MergedStreamCount(const ContendingJob& job) {
  std::set<std::tuple<double, std::int32_t, bool>> known;
  for (const Flow& flow : job.flows) {
    known.emplace(StartOf(job, flow), flow.every_iterations, flow.background);
  }
  return known.size();
}

}  // namespace yardmaster::crux
