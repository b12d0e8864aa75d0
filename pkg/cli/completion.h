// Shell completion: `completion bash|zsh|fish` prints a script; the scripts, and kubectl's own completion
// of plugins, call the hidden verb `__complete WORDS...`.
//
//   source <(kubectl yardmaster completion bash)
//   kubectl yardmaster completion kubectl > ~/.local/bin/kubectl_complete-yardmaster; chmod +x ...
//
// Thread safety: pure functions.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

// What may stand in place of the last word, one a line, then ":4" (no file names) as kubectl expects, or
// ":0" (file names) after a flag that takes a file. `verbs`: their words.
std::string Complete(const std::vector<std::vector<std::string>>& verbs,
                     const std::vector<std::string>& words);

int RunCompletionCommand(const std::vector<std::string>& args, std::ostream& out,
                         std::ostream& err);

}  // namespace yardmaster::cli
