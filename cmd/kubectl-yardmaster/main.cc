// kubectl plugin: `kubectl yardmaster VERB`.
#include <exception>
#include <iostream>

#include "pkg/cli/dispatch.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    const int code =
        yardmaster::cli::Dispatch({argv + 1, argv + argc}, std::cin, std::cout, std::cerr);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "kubectl yardmaster: the answer could not be written\n";
      return 1;
    }
    return code;
  } catch (const std::exception& error) {
    std::cerr << "kubectl yardmaster: " << error.what() << "\n";
    return 1;
  }
}
