#include "pkg/placement/solver/first_fit.h"

#include <algorithm>
#include <set>

namespace yardmaster::placement {

namespace {

// In which order the segments of a fabric pod are tried.
enum class Order { kAsListed, kFullestFirst, kTightestFirst };

class Filler {
 public:
  Filler(const fabric::Places& places, const GangModel& model,
         const std::vector<std::vector<int>>& stages_of_atom, std::vector<int> capacity,
         Order order)
      : model_(model),
        stages_of_atom_(stages_of_atom),
        free_(std::move(capacity)),
        held_(free_.size()),
        segment_of_atom_(model.atoms.size.size(), -1) {
    for (fabric::FabricPodId pod : places.fabric_pods()) {
      std::vector<int>& mine = segments_of_pod_.emplace_back();
      for (fabric::SegmentId s : places.segments_of(pod)) mine.push_back(s.value);
      if (order == Order::kAsListed) continue;
      std::stable_sort(mine.begin(), mine.end(), [&](int a, int b) {
        return order == Order::kFullestFirst ? free_[a] > free_[b] : free_[a] < free_[b];
      });
    }
  }

  // All or nothing.
  bool PlaceSet(const std::vector<int>& atoms) {
    for (const std::vector<int>& segments : segments_of_pod_) {
      const auto free_before = free_;
      const auto held_before = held_;
      if (std::all_of(atoms.begin(), atoms.end(),
                      [&](int atom) { return PlaceAtom(atom, segments); })) {
        return true;
      }
      free_ = free_before;
      held_ = held_before;
    }
    return false;
  }

  int segment(int atom) const { return segment_of_atom_[atom]; }

 private:
  // First where its stages are already.
  bool PlaceAtom(int atom, const std::vector<int>& segments) {
    const bool limited = model_.max_stages_per_segment > 0;
    for (const bool only_held : {true, false}) {
      if (only_held && !limited) continue;
      for (int s : segments) {
        if (free_[s] < model_.atoms.size[atom] || !AddStages(atom, only_held, held_[s])) continue;
        free_[s] -= model_.atoms.size[atom];
        segment_of_atom_[atom] = s;
        return true;
      }
    }
    return false;
  }

  // False, and `held` as it was, where they would be too many, or any new one if only those are
  // wanted that it holds.
  bool AddStages(int atom, bool only_held, std::set<int>& held) const {
    if (model_.max_stages_per_segment == 0) return true;
    std::set<int> together = held;
    together.insert(stages_of_atom_[atom].begin(), stages_of_atom_[atom].end());
    if (only_held) return together.size() == held.size();
    if (static_cast<int>(together.size()) > model_.max_stages_per_segment) return false;
    held = std::move(together);
    return true;
  }

  const GangModel& model_;
  const std::vector<std::vector<int>>& stages_of_atom_;
  std::vector<int> free_;            // by segment
  std::vector<std::set<int>> held_;  // stages, by segment
  std::vector<std::vector<int>> segments_of_pod_;
  std::vector<int> segment_of_atom_;
};

}  // namespace

std::vector<int> FitFirst(const fabric::Places& places, const GangModel& model,
                          const std::vector<std::vector<int>>& stages_of_atom,
                          const std::vector<int>& capacity) {
  std::vector<std::vector<int>> atoms_of(model.pod_sets.size.size());
  std::vector<int> seen(model.atoms.size.size(), 0);
  for (std::size_t w = 0; w < model.atoms.of.size(); ++w) {
    const int atom = model.atoms.of[w];
    if (seen[atom]++ == 0) atoms_of[model.pod_sets.of[w]].push_back(atom);
  }
  // Stage by stage.
  for (std::vector<int>& atoms : atoms_of) {
    std::stable_sort(atoms.begin(), atoms.end(),
                     [&](int a, int b) { return stages_of_atom[a] < stages_of_atom[b]; });
  }
  std::stable_sort(atoms_of.begin(), atoms_of.end(), [&](const auto& a, const auto& b) {
    if (a.size() != b.size()) return a.size() > b.size();
    return stages_of_atom[a[0]] < stages_of_atom[b[0]];
  });
  for (Order order : {Order::kAsListed, Order::kFullestFirst, Order::kTightestFirst}) {
    Filler filler(places, model, stages_of_atom, capacity, order);
    if (!std::all_of(atoms_of.begin(), atoms_of.end(),
                     [&](const auto& atoms) { return filler.PlaceSet(atoms); })) {
      continue;
    }
    std::vector<int> segment_of_worker;
    for (int atom : model.atoms.of) segment_of_worker.push_back(filler.segment(atom));
    return segment_of_worker;
  }
  return {};
}

}  // namespace yardmaster::placement
