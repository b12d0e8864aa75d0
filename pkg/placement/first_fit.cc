#include "pkg/placement/first_fit.h"

#include <algorithm>
#include <set>

namespace yardmaster::placement {

namespace {

class Filler {
 public:
  Filler(const fabric::Places& places, const GangModel& model,
         const std::vector<std::vector<int>>& stages_of_atom, std::vector<int> room)
      : places_(places),
        model_(model),
        stages_of_atom_(stages_of_atom),
        room_(std::move(room)),
        held_(room_.size()),
        segment_of_atom_(model.atoms.size.size(), -1) {}

  // All or nothing.
  bool PlaceSet(const std::vector<int>& atoms) {
    for (fabric::FabricPodId pod : places_.fabric_pods()) {
      const auto room_before = room_;
      const auto held_before = held_;
      if (std::all_of(atoms.begin(), atoms.end(), [&](int a) { return PlaceAtom(a, pod); })) {
        return true;
      }
      room_ = room_before;
      held_ = held_before;
    }
    return false;
  }

  int segment(int atom) const { return segment_of_atom_[atom]; }

 private:
  bool PlaceAtom(int atom, fabric::FabricPodId pod) {
    for (fabric::SegmentId s : places_.segments_of(pod)) {
      if (room_[s.index()] < model_.atoms.size[atom] || !AddStages(atom, held_[s.index()])) {
        continue;
      }
      room_[s.index()] -= model_.atoms.size[atom];
      segment_of_atom_[atom] = s.value;
      return true;
    }
    return false;
  }

  // False, and `held` as it was, where they would be too many.
  bool AddStages(int atom, std::set<int>& held) const {
    if (model_.max_stages_per_segment == 0) return true;
    std::set<int> together = held;
    together.insert(stages_of_atom_[atom].begin(), stages_of_atom_[atom].end());
    if (static_cast<int>(together.size()) > model_.max_stages_per_segment) return false;
    held = std::move(together);
    return true;
  }

  const fabric::Places& places_;
  const GangModel& model_;
  const std::vector<std::vector<int>>& stages_of_atom_;
  std::vector<int> room_;            // by segment
  std::vector<std::set<int>> held_;  // stages, by segment
  std::vector<int> segment_of_atom_;
};

}  // namespace

std::vector<int> FitFirst(const fabric::Places& places, const GangModel& model,
                          const std::vector<std::vector<int>>& stages_of_atom,
                          std::vector<int> room) {
  std::vector<std::vector<int>> atoms_of(model.pod_sets.size.size());
  std::vector<int> seen(model.atoms.size.size(), 0);
  for (std::size_t w = 0; w < model.atoms.of.size(); ++w) {
    const int atom = model.atoms.of[w];
    if (seen[atom]++ == 0) atoms_of[model.pod_sets.of[w]].push_back(atom);
  }
  std::stable_sort(atoms_of.begin(), atoms_of.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  Filler filler(places, model, stages_of_atom, std::move(room));
  for (const std::vector<int>& atoms : atoms_of) {
    if (!filler.PlaceSet(atoms)) return {};
  }
  std::vector<int> segment_of_worker;
  for (int atom : model.atoms.of) segment_of_worker.push_back(filler.segment(atom));
  return segment_of_worker;
}

}  // namespace yardmaster::placement
