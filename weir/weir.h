// The public C++ API of weir in one include.
#ifndef WEIR_WEIR_H_
#define WEIR_WEIR_H_

#include "weir/client/averages.h"
#include "weir/client/client_session.h"
#include "weir/client/control_flow.h"
#include "weir/client/differentiate.h"
#include "weir/client/environment.h"
#include "weir/client/examples.h"
#include "weir/client/export.h"
#include "weir/client/initializers.h"
#include "weir/client/input.h"
#include "weir/client/losses.h"
#include "weir/client/metrics.h"
#include "weir/client/nn/batches.h"
#include "weir/client/nn/callbacks.h"
#include "weir/client/nn/layers.h"
#include "weir/client/nn/model.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/optimizer.h"
#include "weir/client/saved_model.h"
#include "weir/client/saver.h"
#include "weir/client/schedules.h"
#include "weir/client/scope.h"
#include "weir/client/tensor_math.h"
#include "weir/client/training_loop.h"
#include "weir/client/variable.h"
#include "weir/io/event_writer.h"
#include "weir/runtime/session.h"

#endif  // WEIR_WEIR_H_
