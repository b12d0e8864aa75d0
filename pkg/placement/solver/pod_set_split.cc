#include "pkg/placement/solver/pod_set_split.h"

#include <algorithm>

#include "pkg/placement/solver/uniform_solver.h"

namespace yardmaster::placement {

namespace {

class Splitter {
 public:
  Splitter(const fabric::Places& places, const GangModel& model, const std::vector<int>& capacity,
           int max_components, const std::vector<SegmentScore>& scores)
      : places_(places),
        model_(model),
        capacity_(capacity),
        max_components_(max_components),
        scores_(scores) {}

  SegmentPlan Run() {
    SegmentPlan out;
    out.exact = false;
    if (!Regular()) return out;
    out.segment_of_worker.assign(model_.components.of.size(), -1);
    bool proved = true;
    int placed = 0;
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      for (int sets = model_.pod_sets.count() - placed; sets > 0; --sets) {
        const UniformPlan plan = Solve(pod, sets);
        if (!plan.found) {
          proved = proved && plan.exact;
          continue;
        }
        Give(placed, sets, plan, out.segment_of_worker);
        placed += sets;
        break;
      }
    }
    out.found = placed == model_.pod_sets.count();
    out.exact = !out.found && proved;
    if (!out.found) out.segment_of_worker.clear();
    return out;
  }

 private:
  // Lists the atoms of every pod set and component; false unless all have as many.
  bool Regular() {
    const auto components = static_cast<std::size_t>(model_.components.count());
    atoms_.assign(model_.pod_sets.size.size() * components, {});
    std::vector<std::uint8_t> seen(model_.atoms.size.size(), 0);
    for (std::size_t w = 0; w < model_.atoms.of.size(); ++w) {
      const int atom = model_.atoms.of[w];
      if (seen[atom]++ > 0) continue;
      const auto set = static_cast<std::size_t>(model_.pod_sets.of[w]);
      atoms_[set * components + static_cast<std::size_t>(model_.components.of[w])].push_back(atom);
    }
    return std::all_of(atoms_.begin(), atoms_.end(), [&](const auto& atoms) {
      return !atoms.empty() && atoms.size() == atoms_[0].size();
    });
  }

  UniformPlan Solve(fabric::FabricPodId pod, int sets) const {
    UniformProblem problem;
    problem.places = &places_;
    problem.capacity.assign(capacity_.size(), 0);
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      problem.capacity[s.index()] = capacity_[s.index()] / model_.atoms.size[0];
    }
    problem.pieces = sets * static_cast<int>(atoms_[0].size());
    problem.components = model_.components.count();
    problem.max_components = max_components_;
    return SolveUniform(problem, scores_);
  }

  void Give(int first_set, int sets, const UniformPlan& plan,
            std::vector<int>& segment_of_worker) const {
    std::vector<int> segment_of_atom(model_.atoms.size.size(), -1);
    const std::size_t components = plan.parts.size();
    for (std::size_t c = 0; c < components; ++c) {
      std::vector<int> segments;
      for (const SegmentCount& part : plan.parts[c]) {
        segments.insert(segments.end(), static_cast<std::size_t>(part.count), part.segment);
      }
      std::size_t next = 0;
      for (int set = first_set; set < first_set + sets; ++set) {
        for (int atom : atoms_[static_cast<std::size_t>(set) * components + c]) {
          segment_of_atom[atom] = segments[next++];
        }
      }
    }
    for (std::size_t w = 0; w < segment_of_worker.size(); ++w) {
      const int segment = segment_of_atom[model_.atoms.of[w]];
      if (segment >= 0) segment_of_worker[w] = segment;
    }
  }

  const fabric::Places& places_;
  const GangModel& model_;
  const std::vector<int>& capacity_;
  const int max_components_;
  const std::vector<SegmentScore>& scores_;
  std::vector<std::vector<int>> atoms_;  // by pod set and component
};

}  // namespace

SegmentPlan SplitPodSets(const fabric::Places& places, const GangModel& model,
                         const std::vector<int>& capacity, int max_components,
                         const std::vector<SegmentScore>& scores) {
  return Splitter(places, model, capacity, max_components, scores).Run();
}

}  // namespace yardmaster::placement
