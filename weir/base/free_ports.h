// Ports for servers of this machine.
#ifndef WEIR_BASE_FREE_PORTS_H_
#define WEIR_BASE_FREE_PORTS_H_

#include <vector>

namespace weir {

// Ports of 127.0.0.1 on which nobody listens, below those that the system gives to connections by itself. While this
// process lives no other gets them from here, so that a server may take its time to listen, or stop and come back.
// Fewer than asked for if there are no more.
std::vector<int> FreePorts(int count);

}  // namespace weir

#endif  // WEIR_BASE_FREE_PORTS_H_
