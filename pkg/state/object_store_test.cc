#include "pkg/state/object_store.h"

#include <deque>
#include <optional>
#include <random>

#include "gtest/gtest.h"

#include "pkg/base/testing/rounds.h"

namespace yardmaster::state {
namespace {

struct Thing {
  api::ObjectMeta metadata;
  int value = 0;
};
using Store = ObjectStore<Thing>;

std::shared_ptr<const Thing> Make(const std::string& name, const std::string& uid,
                                  std::uint64_t version, int value = 0) {
  auto thing = std::make_shared<Thing>();
  thing->metadata.name = name;
  thing->metadata.uid = uid;
  thing->metadata.resource_version = version == 0 ? "" : StrCat(version);
  thing->value = value;
  return thing;
}

std::string Shown(const Store& store) {
  std::string text;
  for (const auto& thing : store.objects()) {
    text += StrCat(thing->metadata.name, thing->metadata.uid, "@", thing->metadata.resource_version,
                   " ");
  }
  return text;
}

TEST(ObjectStoreTest, ARestoredBackupReplacesEverything) {
  Store store;
  store.BeginList();
  store.Listed(Make("a", "u", 90));
  store.Listed(Make("b", "u", 95));
  store.EndList(100);
  store.Assume(Make("c", "u", 120));
  store.BeginList();
  store.Listed(Make("a", "u", 40));
  const auto gone = store.EndList(50);
  EXPECT_EQ(Shown(store), "au@40 ");
  EXPECT_EQ(gone.size(), 2u);
  EXPECT_TRUE(store.Put(Make("a", "u", 51)));
}

TEST(ObjectStoreTest, AListThatBreaksOffTakesNothingAway) {
  Store store;
  store.BeginList();
  store.Listed(Make("a", "u", 1));
  store.Listed(Make("b", "u", 2));
  store.EndList(5);
  store.BeginList();
  store.Listed(Make("a", "u", 1));
  store.BeginList();
  store.Listed(Make("b", "u", 7));
  EXPECT_TRUE(store.EndList(8).size() == 1 && Shown(store) == "bu@7 ") << Shown(store);
}

TEST(ObjectStoreTest, AnUnchangedObjectOfAListIsNotHeldTwice) {
  Store store;
  const auto first = Make("a", "u", 1);
  store.BeginList();
  store.Listed(first);
  store.EndList(5);
  store.BeginList();
  EXPECT_FALSE(store.Listed(Make("a", "u", 1)));
  store.EndList(6);
  EXPECT_EQ(store.objects().front(), first);
}

TEST(ObjectStoreTest, WithoutVersionsTheLastWordCounts) {
  Store store;
  EXPECT_TRUE(store.Put(Make("a", "u", 0, 1)));
  EXPECT_TRUE(store.Assume(Make("a", "u", 0, 2)));
  EXPECT_TRUE(store.Put(Make("a", "u", 0, 3)));
  EXPECT_EQ(store.objects().front()->value, 3);
  EXPECT_FALSE(store.Remove({"", "a"}, 0, "another"));
  EXPECT_TRUE(store.Remove({"", "a"}, 0, ""));
}

// The API server as its history: every state of every object, and a restore of a backup.
class ClusterHistory {
 public:
  struct Event {
    std::uint64_t version;
    std::shared_ptr<const Thing> state;  // null: deleted
    std::string name;
    std::string uid;
  };

  std::shared_ptr<const Thing> Write(const std::string& name, bool create_only = false) {
    const auto known = At(name, version_);
    if (create_only && known != nullptr) return nullptr;
    const std::string uid = known != nullptr ? known->metadata.uid : StrCat("u", ++uids_);
    ++version_;
    events_.push_back({version_, Make(name, uid, version_), name, uid});
    return events_.back().state;
  }
  void Delete(const std::string& name) {
    const auto known = At(name, version_);
    if (known == nullptr) return;
    events_.push_back({++version_, nullptr, name, known->metadata.uid});
  }
  // Back to the state at a former version; later writes count on from there.
  void Restore(std::uint64_t version) {
    while (!events_.empty() && events_.back().version > version) events_.pop_back();
    version_ = version;
  }
  std::shared_ptr<const Thing> At(const std::string& name, std::uint64_t version) const {
    std::shared_ptr<const Thing> state;
    for (const Event& event : events_) {
      if (event.version <= version && event.name == name) state = event.state;
    }
    return state;
  }
  const Event* After(std::uint64_t version) const {
    for (const Event& event : events_) {
      if (event.version > version) return &event;
    }
    return nullptr;
  }
  std::uint64_t version() const { return version_; }

 private:
  std::vector<Event> events_;
  std::uint64_t version_ = 100;
  int uids_ = 0;
};

const char* const kNames[] = {"a", "b", "c", "d"};

// One process that reads and writes the objects, with everything late that may be late.
class RandomClient {
 public:
  explicit RandomClient(unsigned seed) : random_(seed) {}

  void Step() {
    const std::string name = kNames[random_() % 4];
    switch (random_() % 12) {
      case 0:
      case 1:
        history_.Write(name);
        break;
      case 2:
        history_.Delete(name);
        break;
      case 3:
      case 4:  // our own write takes effect now and its answer comes later
        if (auto state = history_.Write(name, random_() % 2 == 0)) answers_.push_back(state);
        break;
      case 5:
        Answer();
        break;
      case 6:
        Bookmark();
        break;
      case 7:
        if (random_() % 4 == 0) BeginList();
        break;
      default:
        if (list_.has_value()) {
          ListOne();
        } else {
          WatchOne();
        }
    }
    if (random_() % 400 == 0) Restore();
  }
  // Everything that is under way arrives.
  void Settle() {
    while (!answers_.empty()) Answer();
    while (list_.has_value()) ListOne();
    while (history_.After(store_.horizon()) != nullptr) WatchOne();
  }
  // What the rule promises, worked out from the history alone.
  std::string Expected() const {
    std::string text;
    for (const char* name : kNames) {
      auto state = history_.At(name, store_.horizon());
      for (const auto& own : own_) {
        const std::uint64_t version = VersionNumber(own->metadata.resource_version);
        if (own->metadata.name != name || version <= store_.horizon()) continue;
        if (state == nullptr || version > VersionNumber(state->metadata.resource_version)) {
          state = own;
        }
      }
      if (state != nullptr) {
        text += StrCat(name, state->metadata.uid, "@", state->metadata.resource_version, " ");
      }
    }
    return text;
  }
  bool listing() const { return list_.has_value(); }
  const Store& store() const { return store_; }
  const ClusterHistory& history() const { return history_; }

 private:
  struct List {
    std::uint64_t version;
    std::deque<std::shared_ptr<const Thing>> rest;
  };

  void Answer() {
    if (answers_.empty()) return;
    const std::size_t at = random_() % answers_.size();  // in any order
    store_.Assume(answers_[at]);
    own_.push_back(answers_[at]);
    answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void WatchOne() {
    const ClusterHistory::Event* event = history_.After(store_.horizon());
    if (event == nullptr) return;
    if (event->state != nullptr) {
      store_.Put(event->state);
    } else {
      store_.Remove({"", event->name}, event->version, event->uid);
    }
  }
  void Bookmark() {
    if (!list_ && history_.After(store_.horizon()) == nullptr) store_.Advance(history_.version());
  }
  // Also in the middle of another one, which it replaces.
  void BeginList() {
    list_ = List{history_.version(), {}};
    for (const char* name : kNames) {
      if (auto state = history_.At(name, history_.version())) list_->rest.push_back(state);
    }
    std::shuffle(list_->rest.begin(), list_->rest.end(), random_);
    store_.BeginList();
  }
  void ListOne() {
    if (!list_->rest.empty()) {
      store_.Listed(list_->rest.front());
      list_->rest.pop_front();
      return;
    }
    store_.EndList(list_->version);
    list_.reset();
  }
  // The server is down meanwhile: nothing is under way afterwards, and the watch begins with a
  // list.
  void Restore() {
    if (list_ || history_.version() <= 101) return;
    history_.Restore(100 + random_() % (history_.version() - 100));
    answers_.clear();
    // Own writes of the lost history that no list can contradict: not in this test.
    for (const auto& own : own_) {
      if (VersionNumber(own->metadata.resource_version) > store_.horizon()) store_ = {};
    }
    own_.clear();
    for (unsigned writes = random_() % 20; writes > 0; --writes) {
      history_.Write(kNames[random_() % 4]);
    }
    BeginList();
    while (list_.has_value()) ListOne();
  }

  std::mt19937 random_;
  ClusterHistory history_;
  Store store_;
  std::vector<std::shared_ptr<const Thing>> answers_;  // on their way
  std::vector<std::shared_ptr<const Thing>> own_;      // arrived
  std::optional<List> list_;
};

TEST(ObjectStoreTest, RandomHistoriesAgreeWithTheRuleWorkedOutFromTheHistory) {
  for (unsigned seed = 1; seed <= Rounds(400u); ++seed) {
    RandomClient client(seed);
    for (int step = 0; step < 300; ++step) {
      client.Step();
      if (client.listing()) continue;  // parts of two states, until the list is complete
      ASSERT_EQ(Shown(client.store()), client.Expected()) << "seed " << seed << ", step " << step;
    }
    client.Settle();
    std::string now;
    for (const char* name : kNames) {
      if (const auto state = client.history().At(name, client.history().version())) {
        now += StrCat(name, state->metadata.uid, "@", state->metadata.resource_version, " ");
      }
    }
    ASSERT_EQ(Shown(client.store()), now) << "seed " << seed << ": no ghost, nothing lost";
  }
}

}  // namespace
}  // namespace yardmaster::state
