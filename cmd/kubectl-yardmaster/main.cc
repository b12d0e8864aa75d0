// kubectl plugin: `kubectl yardmaster VERB`.
#include <exception>
#include <iostream>
#ifdef YARDMASTER_STATIC
#include <nss.h>
#include <openssl/crypto.h>
#endif

#include "pkg/cli/dispatch.h"

namespace {

// A program with a C library of its own cannot load modules that were made for another one, and a
// machine's configuration may name some: for names of hosts and users (/etc/nsswitch.conf) and for
// TLS (openssl.cnf). It resolves names by /etc/hosts and DNS, and keeps OpenSSL's defaults.
void LoadNothingFromTheMachine() {
#ifdef YARDMASTER_STATIC
  for (const char* database : {"hosts", "networks"}) {
    __nss_configure_lookup(database, "files dns");
  }
  for (const char* database : {"passwd", "group", "services", "protocols"})
    __nss_configure_lookup(database, "files");
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  LoadNothingFromTheMachine();
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
