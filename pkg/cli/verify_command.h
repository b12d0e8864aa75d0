// `kubectl yardmaster fabric verify --fabric FILE --reports FILE [-o json|table]`: the cabling of a
// fabric, as its ports report it (config/observations.h has the format), beside the blueprint.
//
// Answer: {"ok": false, "cables": 96, "checked": 96, "faults": [{"port", "expected", "found"}],
// "swaps": [{"first", "second"}], "unexplained": [...], "unknownPorts": [...],
// "contradictions": [...]}. Doing the swaps in their order mends every fault but the unexplained.
//
// `kubectl yardmaster fabric trust --fabric FILE --observed FILE [-o json|table]`: the paths that
// packets were seen to take, beside the predictions.
//
// Answer: {"ok": true, "paths": 50, "roles": [{"role", "verdict", "checked", "wrong", "foreign",
// "example"}]}; the verdict is trusted, mistrusted or unknown (fewer than eight hashed hops seen).
//
// Both return the exit code: 0 answered, also when something is wrong with the fabric ("ok" says
// it), 1 the input is wrong, 2 usage. Thread safety: read the files named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunFabricVerifyCommand(const std::vector<std::string>& args, std::istream& in,
                           std::ostream& out, std::ostream& err);

int RunFabricTrustCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                          std::ostream& err);

}  // namespace yardmaster::cli
