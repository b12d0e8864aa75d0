// Pods and Nodes as a cloud writes them, with managedFields and everything else that Yardmaster
// does not read: about 8 KiB a pod, 10 KiB a Node. Values that differ from object to object are
// holes "@0@" to "@9@" of a Template (cloud_objects.h). Thread safety: pure functions.
#pragma once

#include "nlohmann/json.hpp"

namespace yardmaster::bench {

// Holes of every pod: 0 name, 1 uid, 2 version, 3 node, 4 address.
// Holes also: 5 job, 6 rank, 7 slot.
nlohmann::json GangPodPrototype();
// Holes also: 5 ReplicaSet, 6 application.
nlohmann::json OtherPodPrototype();
// Holes: 0 name, 1 uid, 2 version, 3 fabric pod, 4 segment, 5 address, 6 NIC addresses, 7 holder.
nlohmann::json NodePrototype(bool backup, bool promised);

}  // namespace yardmaster::bench
