// Lists the objects of one kind of the API server in memory into a sink, as an informer's list
// does. Thread safety: as the sink. Lifetimes: nothing outlives the call.
#pragma once

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/object_sink.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::kube {

// Also calls `each` with every object.
template <typename Each>
void Relist(const FakeClient& client, const Resource& resource, ObjectSink& sink, Each&& each) {
  sink.BeginList();
  for (const nlohmann::json& object : client.All(resource)) {
    sink.Listed(object);
    each(object);
  }
  sink.EndList(StrCat(client.version()));
}

inline void Relist(const FakeClient& client, const Resource& resource, ObjectSink& sink) {
  Relist(client, resource, sink, [](const nlohmann::json&) {});
}

}  // namespace yardmaster::kube
