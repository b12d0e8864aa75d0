// A program that is linked with libibverbs and bound before main, as perftest is in distributions.
// Prints the largest number of queue pairs of the first device, or "none".
#include <cstdio>
#include <infiniband/verbs.h>

int main() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr || count == 0) {
    std::puts("none");
    return 0;
  }
  ibv_device_attr attr = {};
  ibv_context* context = ibv_open_device(devices[0]);
  if (context == nullptr || ibv_query_device(context, &attr) != 0) return 1;
  std::printf("%d\n", attr.max_qp);
  return 0;
}
