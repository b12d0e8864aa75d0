// What an informer fills: a copy of one collection, in a form that its owner chooses.
//
// The informer calls, on its thread and one call at a time:
//   BeginList, Listed for every object, EndList       the collection as it was at one version; an
//                                                     object that changes meanwhile is Listed
//                                                     again, one that is deleted is Removed
//   BeginList, Listed, BeginList, ...                 a list that broke off and begins again
//   Put, Remove, Advance                              what changed after the list, in order
// Every version up to the last one named by EndList, Put, Remove or Advance has then been
// delivered. Views live as long as the call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "pkg/json/json_view.h"

namespace yardmaster::kube {

class ObjectSink {
 public:
  virtual ~ObjectSink() = default;

  virtual void BeginList() = 0;
  virtual void Listed(JsonView object) = 0;
  // Objects that were known and not listed are gone, unless they are newer than `version`.
  virtual void EndList(const std::string& version) = 0;
  // Added or changed; `object` carries its version.
  virtual void Put(JsonView object) = 0;
  // Deleted; `object` is its last state and carries the version of the deletion.
  virtual void Remove(JsonView object) = 0;
  // A bookmark: nothing else has happened up to `version`.
  virtual void Advance(const std::string& version) = 0;
};

// The identity of an object that is gone.
struct ObjectIdentity {
  std::string ns;
  std::string name;
  std::string uid;
};

// A sink that hands objects on and keeps of each only its identity and version, which is what it
// needs to know what is new and what is gone. An object made again under its name is reported as
// deleted and then as put. An object that arrives again with the version already known is not
// reported. Thread safety: none; one informer calls it, and both functions run on that thread.
class CallbackSink final : public ObjectSink {
 public:
  using OnPut = std::function<void(JsonView object)>;
  using OnDeleted = std::function<void(const ObjectIdentity& object)>;
  // Either may be empty.
  CallbackSink(OnPut put, OnDeleted deleted);

  void BeginList() override;
  void Listed(JsonView object) override;
  void EndList(const std::string& version) override;
  void Put(JsonView object) override;
  void Remove(JsonView object) override;
  void Advance(const std::string&) override {}
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    ObjectIdentity identity;
    std::string version;
    std::int64_t list = 0;  // the last list that named it
  };

  OnPut put_;
  OnDeleted deleted_;
  std::map<std::string, Known> known_;  // by key
  std::int64_t list_ = 0;
};

}  // namespace yardmaster::kube
