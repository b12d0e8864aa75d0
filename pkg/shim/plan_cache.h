// PlanCache holds the current plan file. If the file has changed, the thread that asks for the plan
// reads it again; readers of the old plan keep it until they release it.
//
//   const PlanCache::Use use(cache);
//   if (use.plan() != nullptr) FindPeer(*use.plan(), ...);
//
//   - Kubernetes replaces files of a downward-API volume by renaming a folder link, so a reader
//     sees either the old file or the new one.
//   - Memory is fixed; nothing is allocated.
//   - At most one thread reads the file. The others use the previous plan. If there is none, they
//     wait for the first one, at most kMaxWaitMs.
//
// Thread safety: Use from any thread; SetPath before the first Use.
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

  // Sets the path, which is copied. nullptr or "": no plan. A path of 256 bytes or more is ignored.
  void SetPath(const char* path);

  class Use {
   public:
    explicit Use(PlanCache& cache) : cache_(cache), index_(cache.Acquire()) {}
    ~Use() {
      if (index_ >= 0) cache_.users_[index_].fetch_sub(1);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    // nullptr: another thread was still reading the first plan after kMaxWaitMs. If there is no
    // file, the plan's state is kAbsent.
    const PlanFile* plan() const { return index_ < 0 ? nullptr : &cache_.plans_[index_]; }
    // Number of the plan: it differs for every plan that was read.
    std::uint32_t generation() const { return index_ < 0 ? 0 : cache_.generations_[index_]; }

   private:
    PlanCache& cache_;
    const int index_;
  };

 private:
  // The file from which the plan was read.
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0, mtime_s = 0, mtime_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static constexpr int kPlans = 4;

  int Acquire();
  void Refresh();
  // Reads the file into a plan that is not in use. Returns -1 if all are in use.
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
