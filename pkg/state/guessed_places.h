// Places of hosts from the labels that other systems write on Nodes: topograph, the clouds,
// CoreWeave, the GPU operator. Used if there is no Fabric, and to make a Fabric of Nodes; `notes`
// names the labels that were used.
//
// The source is the one whose label of a segment the most Nodes with GPUs have; of equal ones the
// first of the table. Complexity: O(nodes * sources). Determinism: the Nodes alone decide. Thread
// safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/node.h"
#include "pkg/fabric/spec.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

using Nodes = ObjectTable<api::Node>;

// Keys of labels. Empty: the Nodes have no label that says it.
struct PlaceLabels {
  std::string source;  // who writes them: "EKS"
  std::string fabric_pod;
  std::string segment;
  std::vector<std::string> domains;  // of these the first that a Node has counts

  // Our own labels, the defaults of a Fabric.
  bool is_own() const;
};

// Of the Nodes with GPUs.
PlaceLabels GuessPlaceLabels(const Nodes& nodes);

struct GuessedPlaces {
  Nodes nodes;  // those without our labels have them, by their other labels
  // What was guessed, each a sentence. Empty: our labels say all of it.
  std::vector<std::string> notes;
};

// The Nodes with the default labels of a Fabric added where they are missing. Without a known
// label, all Nodes with GPUs are one segment.
GuessedPlaces WithGuessedPlaces(const Nodes& nodes);

}  // namespace yardmaster::state
