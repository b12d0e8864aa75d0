#include "pkg/crux/link_users.h"

namespace yardmaster::crux {

void LinkUsers::Resize(std::size_t links) {
  first_.resize(links, -1);
  last_.resize(links, -1);
}

void LinkUsers::Add(std::int32_t slot, const LinkUse& use, const std::vector<std::int32_t>& rank) {
  std::int32_t at = free_;
  if (at >= 0) {
    free_ = entries_[at].next;
  } else {
    at = static_cast<std::int32_t>(entries_.size());
    entries_.emplace_back();
  }
  entries_[at] = {use.seconds, use.bytes, slot, -1};
  std::int32_t& last = last_[use.link];
  if (last < 0) {
    first_[use.link] = last = at;
    return;
  }
  if (rank[entries_[last].slot] < rank[slot]) {
    entries_[last].next = at;
    last = at;
    return;
  }
  std::int32_t* place = &first_[use.link];
  while (rank[entries_[*place].slot] < rank[slot]) place = &entries_[*place].next;
  entries_[at].next = *place;
  *place = at;
}

void LinkUsers::Remove(std::int32_t slot, std::int32_t link) {
  std::int32_t before = -1;
  std::int32_t at = first_[link];
  while (entries_[at].slot != slot) {
    before = at;
    at = entries_[at].next;
  }
  (before < 0 ? first_[link] : entries_[before].next) = entries_[at].next;
  if (last_[link] == at) last_[link] = before;
  entries_[at].next = free_;
  free_ = at;
}

}  // namespace yardmaster::crux
