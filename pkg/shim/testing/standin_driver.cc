// A device driver as rdma-core has them: it needs libibverbs.so.1 by name, and its private
// functions.
extern "C" int standin_private_function();
extern "C" int Probe() { return standin_private_function(); }
