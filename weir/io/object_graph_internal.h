#ifndef WEIR_IO_OBJECT_GRAPH_INTERNAL_H_
#define WEIR_IO_OBJECT_GRAPH_INTERNAL_H_

#include <string_view>

#include "weir/io/checkpoint_reader.h"
#include "weir/proto/checkpoint.pb.h"

namespace weir {

// The attribute of an object that is its value, where the object is a variable.
inline constexpr std::string_view kVariableValue = "VARIABLE_VALUE";

// Without nodes for a checkpoint that has none; DATA_LOSS if it cannot be read.
StatusOr<TrackableObjectGraph> ReadObjectGraph(const CheckpointReader& reader);

}  // namespace weir

#endif  // WEIR_IO_OBJECT_GRAPH_INTERNAL_H_
