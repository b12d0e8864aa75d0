// Which jobs use a link, for every link of a problem, kept while jobs come, go and move.
//
// A job is known here by its slot, a number that stays while the job does; `rank` gives each slot
// the place of its job among all jobs. The users of a link are listed by rank, lowest first,
// independent of the order in which they were added, so a sum over them is the sum that a walk over
// all jobs gives, to the bit. The order by rank of the slots in use must not change while they are
// listed. Complexity: adding a job behind all others O(1) a link, anything else O(users of the
// link). Memory: 24 bytes a use, 8 a link. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <vector>

namespace yardmaster::crux {

// What one job puts on one link in an iteration.
struct LinkUse {
  std::int32_t link = 0;
  double seconds = 0;  // as LinkSeconds; 0 where it is there in the background only
  double bytes = 0;    // on average, background included
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

  // visit(slot, seconds, bytes) for each user of the link, lowest rank first.
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
  std::int32_t free_ = -1;  // list of entries that are not in use
};

}  // namespace yardmaster::crux
