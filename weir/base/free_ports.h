// Free ports for servers on this machine.
#ifndef WEIR_BASE_FREE_PORTS_H_
#define WEIR_BASE_FREE_PORTS_H_

#include <vector>

namespace weir {

// Ports of 127.0.0.1 on which no process listens, below the system's range for outgoing connections. As long as this
// process lives, no other process gets them from this function, so that a server may take its time to listen, or stop
// and restart. Returns fewer than requested if there are no more.
std::vector<int> FreePorts(int count);

}  // namespace weir

#endif  // WEIR_BASE_FREE_PORTS_H_
