// LinkUsers lists for every link of a problem the jobs that use it, while jobs arrive, leave and
// move.
//
// A job has a slot, a number that stays as long as the job. `rank` maps each slot to the position
// of its job among all jobs. The users of a link are listed by rank, lowest first, regardless of
// the order in which they were added. So a sum over them is bitwise that of a loop over all jobs.
//
// Invariant: the relative rank of slots in use does not change while they are listed.
//
// Complexity: adding a job behind all others O(1) per link; all else O(users of the link). Memory:
// 24 bytes per use, 8 per link. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace yardmaster::crux {

// The load of one job on one link in an iteration.
struct LinkUse {
  std::int32_t link = 0;
  double seconds = 0;  // as LinkSeconds; 0 if it has background flows only
  double bytes = 0;    // mean, background flows included
};

class LinkUsers {
 public:
  void Clear() { *this = {}; }
  // REQUIRES: links >= links().
  void Resize(std::size_t links);
  std::size_t links() const { return first_.size(); }

  // `rank` by slot. REQUIRES: the slot does not use the link.
  void Add(std::int32_t slot, const LinkUse& use, const std::vector<std::int32_t>& rank);
  // REQUIRES: the slot uses the link.
  void Remove(std::int32_t slot, std::int32_t link);

  // Calls visit(slot, seconds, bytes) for each user of the link, lowest rank first.
  template <typename Visit>
  void Each(std::int32_t link, Visit visit) const {
    for (std::int32_t at = first_[link]; at >= 0; at = entries_[at].next) {
      const Entry& entry = entries_[at];
      visit(entry.slot, entry.seconds, entry.bytes);
    }
  }

 private:
  struct Entry {
    double seconds = 0;
    double bytes = 0;
    std::int32_t slot = 0;
    std::int32_t next = -1;
  };
  std::vector<std::int32_t> first_;  // by link; -1: none
  std::vector<std::int32_t> last_;
  std::vector<Entry> entries_;
  std::int32_t free_ = -1;  // head of the list of unused entries
};

}  // namespace yardmaster::crux
