// All objects of one kind by (namespace, name), as a value: copies are cheap and independent of
// later changes of the original, and two tables are compared at the cost of their differences.
//
// Why not a vector? A planner takes all objects before each pass, and between two passes hardly any
// of them changed. Here the objects are in immutable chunks: Put and Erase replace one chunk, and
// Differences skips every chunk that both tables share. Changes are found by comparison alone, so
// none can be lost by anything between two copies (a relist, an object that came and went).
//
// A table either owns its list of chunks, which it may write, or shares it with others. Copying one
// that owns costs a pointer per chunk, and one that shares a single pointer; the copy shares. A
// table that shares copies the list before it writes, and owns that copy.
//
// Invariants: keys are unique and ascend; no chunk is empty. Thread safety: as a std::vector; a
// copy may be read while the original is written.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "pkg/base/namespaced_name.h"

namespace yardmaster::state {

// The key of an object is its namespace (empty for cluster-scoped kinds) and its name.
template <typename T>
class ObjectTable {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Chunk = std::vector<Ptr>;
  using Chunks = std::vector<std::shared_ptr<const Chunk>>;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Ptr;
    using difference_type = std::ptrdiff_t;
    using pointer = const Ptr*;
    using reference = const Ptr&;

    Iterator() = default;
    Iterator(const Chunks* chunks, std::size_t chunk) : chunks_(chunks), chunk_(chunk) {}
    const Ptr& operator*() const { return (*(*chunks_)[chunk_])[at_]; }
    const Ptr* operator->() const { return &**this; }
    Iterator& operator++() {
      if (++at_ == (*chunks_)[chunk_]->size()) {
        ++chunk_;
        at_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class ObjectTable;
    const Chunks* chunks_ = nullptr;
    std::size_t chunk_ = 0;
    std::size_t at_ = 0;
  };

  ObjectTable() = default;
  ObjectTable(const ObjectTable& other)
      : chunks_(other.owns_ ? std::make_shared<Chunks>(*other.chunks_) : other.chunks_),
        size_(other.size_) {}
  ObjectTable(ObjectTable&& other) noexcept
      : chunks_(std::exchange(other.chunks_, None())),
        owns_(std::exchange(other.owns_, false)),
        size_(std::exchange(other.size_, 0)) {}
  ObjectTable& operator=(ObjectTable other) noexcept {
    std::swap(chunks_, other.chunks_);
    std::swap(owns_, other.owns_);
    std::swap(size_, other.size_);
    return *this;
  }
  // A copy in O(1). The next write of this table copies its list of chunks first.
  ObjectTable Share() {
    owns_ = false;
    return *this;
  }

  static NamespacedNameView KeyOf(const T& object) {
    return {object.metadata.namespace_name, object.metadata.name};
  }

  // The table of `objects`; of several with one key the last. O(objects * log objects).
  static ObjectTable Of(std::vector<Ptr> objects) {
    std::stable_sort(objects.begin(), objects.end(),
                     [](const Ptr& a, const Ptr& b) { return KeyOf(*a) < KeyOf(*b); });
    ObjectTable table;
    Chunks& chunks = table.Written();
    Chunk chunk;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (i + 1 < objects.size() && KeyOf(*objects[i]) == KeyOf(*objects[i + 1])) continue;
      chunk.push_back(std::move(objects[i]));
      ++table.size_;
      if (chunk.size() == kMost / 2) {
        chunks.push_back(std::make_shared<const Chunk>(std::exchange(chunk, {})));
      }
    }
    if (!chunk.empty()) chunks.push_back(std::make_shared<const Chunk>(std::move(chunk)));
    return table;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return {chunks_.get(), 0}; }
  Iterator end() const { return {chunks_.get(), chunks_->size()}; }
  // REQUIRES: not empty.
  const Ptr& front() const { return *begin(); }

  // Null when there is none. O(log objects).
  Ptr Find(NamespacedNameView key) const {
    if (empty()) return nullptr;
    const Chunk& chunk = *(*chunks_)[ChunkFor(key)];
    const auto at = LowerBound(chunk, key);
    return at != chunk.end() && KeyOf(**at) == key ? *at : nullptr;
  }

  // Adds an object, or replaces the one of its key. O(log objects + a chunk).
  void Put(Ptr object) {
    const NamespacedNameView key = KeyOf(*object);
    Chunks& chunks = Written();
    if (chunks.empty()) chunks.push_back(std::make_shared<const Chunk>());
    const std::size_t c = ChunkFor(key);
    Chunk chunk = *chunks[c];
    const auto at = LowerBound(chunk, key);
    if (at != chunk.end() && KeyOf(**at) == key) {
      chunk[static_cast<std::size_t>(at - chunk.begin())] = std::move(object);
    } else {
      chunk.insert(at, std::move(object));
      ++size_;
    }
    if (chunk.size() > kMost) {
      const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(chunk.size() / 2);
      chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(c) + 1,
                    std::make_shared<const Chunk>(middle, chunk.end()));
      chunk.erase(middle, chunk.end());
    }
    chunks[c] = std::make_shared<const Chunk>(std::move(chunk));
  }

  // False when there is none.
  bool Erase(NamespacedNameView key) {
    if (empty()) return false;
    const std::size_t c = ChunkFor(key);
    Chunk chunk = *(*chunks_)[c];
    const auto at = LowerBound(chunk, key);
    if (at == chunk.end() || KeyOf(**at) != key) return false;
    chunk.erase(at);
    --size_;
    Replace(c, std::move(chunk));
    return true;
  }

  template <typename Predicate>
  void EraseIf(Predicate predicate) {
    ObjectTable kept;
    Chunks& chunks = kept.Written();
    for (const auto& chunk : *chunks_) {
      if (std::none_of(chunk->begin(), chunk->end(), predicate)) {
        kept.size_ += chunk->size();
        chunks.push_back(chunk);
        continue;
      }
      Chunk rest;
      std::remove_copy_if(chunk->begin(), chunk->end(), std::back_inserter(rest), predicate);
      if (rest.empty()) continue;
      kept.size_ += rest.size();
      chunks.push_back(std::make_shared<const Chunk>(std::move(rest)));
    }
    *this = std::move(kept);
  }

  void clear() { *this = ObjectTable(); }

  // Calls changed(before, after) for every key whose object is not the same one in both tables, in
  // key order; null where a table has none. O(chunks + objects of chunks that differ).
  template <typename Changed>
  static void Differences(const ObjectTable& before, const ObjectTable& after, Changed changed) {
    if (before.chunks_ == after.chunks_) return;
    const Ptr none;
    Iterator a = before.begin(), b = after.begin();
    while (a != before.end() && b != after.end()) {
      if (a.at_ == 0 && b.at_ == 0 && (*before.chunks_)[a.chunk_] == (*after.chunks_)[b.chunk_]) {
        ++a.chunk_;
        ++b.chunk_;
        continue;
      }
      // Most objects of a chunk that differs are the same: these are not looked into.
      const auto order = *a == *b ? std::strong_ordering::equal : KeyOf(**a) <=> KeyOf(**b);
      if (order < 0) {
        changed(*a++, none);
      } else if (order > 0) {
        changed(none, *b++);
      } else {
        if (*a != *b) changed(*a, *b);
        ++a;
        ++b;
      }
    }
    while (a != before.end()) changed(*a++, none);
    while (b != after.end()) changed(none, *b++);
  }

 private:
  static constexpr std::size_t kMost = 128;  // objects of a chunk

  static typename Chunk::const_iterator LowerBound(const Chunk& chunk, NamespacedNameView key) {
    return std::lower_bound(
        chunk.begin(), chunk.end(), key,
        [](const Ptr& object, NamespacedNameView k) { return KeyOf(*object) < k; });
  }

  // The last chunk that begins at the key or before it, else the first.
  std::size_t ChunkFor(NamespacedNameView key) const {
    const auto at = std::upper_bound(chunks_->begin(), chunks_->end(), key,
                                     [](NamespacedNameView k, const auto& chunk) {
                                       return !chunk->empty() && k < KeyOf(*chunk->front());
                                     });
    return at == chunks_->begin() ? 0 : static_cast<std::size_t>(at - chunks_->begin()) - 1;
  }

  // Chunks that became small are joined with the next, so that their number stays near
  // objects / kMost after many deletions.
  void Replace(std::size_t c, Chunk chunk) {
    Chunks& chunks = Written();
    const auto at = chunks.begin() + static_cast<std::ptrdiff_t>(c);
    if (chunk.empty()) {
      chunks.erase(at);
      return;
    }
    if (c + 1 < chunks.size() && chunk.size() + chunks[c + 1]->size() <= kMost / 2) {
      chunk.insert(chunk.end(), chunks[c + 1]->begin(), chunks[c + 1]->end());
      chunks.erase(at + 1);
    }
    chunks[c] = std::make_shared<const Chunk>(std::move(chunk));
  }

  static const std::shared_ptr<Chunks>& None() {
    static const auto none = std::make_shared<Chunks>();
    return none;
  }
  // The list of chunks, to be written.
  Chunks& Written() {
    if (!owns_) chunks_ = std::make_shared<Chunks>(*chunks_);
    owns_ = true;
    return *chunks_;
  }

  std::shared_ptr<Chunks> chunks_ = None();  // never null; not written unless `owns_`
  bool owns_ = false;
  std::size_t size_ = 0;
};

}  // namespace yardmaster::state
