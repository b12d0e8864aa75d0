// The plan file as it is now. A file that changed is read again, on the thread of the call that
// asks for it; readers of the old plan keep it until they release it.
//
//   const PlanCache::Use use(cache);
//   if (use.plan() != nullptr) FindPeer(*use.plan(), ...);
//
// Kubernetes replaces files of a downward-API volume by renaming a folder link, so a reader sees an
// old file or a new one. Memory is fixed; no allocation. At most one thread reads the file; the
// others use the plan before it, and the first ones wait for it at most kMaxWaitMs.
// Thread safety: Use from any thread, SetPath before the first.
#pragma once

#include <atomic>
#include <cstdint>

#include "pkg/shim/plan.h"

namespace yardmaster::shim {

class PlanCache {
 public:
  static constexpr int kMaxWaitMs = 200;

  constexpr PlanCache() = default;
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // nullptr or "": no plan. A path of 256 bytes or more is ignored. The text is copied.
  void SetPath(const char* path);

  class Use {
   public:
    explicit Use(PlanCache& cache) : cache_(cache), index_(cache.Acquire()) {}
    ~Use() {
      if (index_ >= 0) cache_.users_[index_].fetch_sub(1);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    // nullptr: another thread was still reading the first plan after kMaxWaitMs. Without a file the
    // plan's state is kAbsent.
    const PlanFile* plan() const { return index_ < 0 ? nullptr : &cache_.plans_[index_]; }
    // Counts the plans that were read; a plan that changed has another number.
    std::uint32_t generation() const { return index_ < 0 ? 0 : cache_.generations_[index_]; }

   private:
    PlanCache& cache_;
    const int index_;
  };

 private:
  // Which file the plan came from.
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0, mtime_s = 0, mtime_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static constexpr int kPlans = 4;

  int Acquire();
  void Refresh();
  // Reads the file into a plan without users. -1: all are in use.
  int Load(int fd);

  char path_[256] = {};
  std::atomic<bool> busy_ = false;
  // Owned by the thread that set busy_.
  Stamp stamp_ = {};
  std::uint32_t loads_ = 0;
  char text_[kMaxPlanBytes + 1] = {};

  std::atomic<int> current_ = 0;  // index + 1; 0: none was read yet
  std::atomic<int> users_[kPlans] = {};
  std::uint32_t generations_[kPlans] = {};
  PlanFile plans_[kPlans] = {};
};

}  // namespace yardmaster::shim
