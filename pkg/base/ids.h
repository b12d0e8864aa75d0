// Strong dense ids. An id is an index into the arrays of the object that issued it (Places, a
// Network, the jobs of a Snapshot) and means nothing elsewhere. Ids order by that index; sorts
// whose result must be deterministic use it as the last key. A default id is invalid. Thread
// safety: values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace yardmaster {

template <typename Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr bool valid() const { return value >= 0; }
  // As a subscript. REQUIRES: valid().
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  constexpr auto operator<=>(const Id&) const = default;
};

template <typename H, typename Tag>
H AbslHashValue(H h, const Id<Tag>& id) {
  return H::combine(std::move(h), id.value);
}

}  // namespace yardmaster

template <typename Tag>
struct std::hash<yardmaster::Id<Tag>> {
  std::size_t operator()(const yardmaster::Id<Tag>& id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
