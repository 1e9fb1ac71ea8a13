// Variables on parameter servers, which several workers share: who gives them their first values.
#ifndef WEIR_CLIENT_NN_SHARED_VARIABLES_H_
#define WEIR_CLIENT_NN_SHARED_VARIABLES_H_

#include <vector>

#include "weir/client/client_session.h"
#include "weir/client/distribute.h"
#include "weir/client/variable.h"

namespace weir::nn {

// The chief initializes those of the variables that have no value; what a run before this one has left is kept. The
// other workers wait until all have a value: DEADLINE_EXCEEDED names those that have none.
Status InitializeShared(ClientSession& session, const Scope& scope, const std::vector<Variable>& variables,
                        const distribute::ParameterServers& servers);

}  // namespace weir::nn

#endif  // WEIR_CLIENT_NN_SHARED_VARIABLES_H_
