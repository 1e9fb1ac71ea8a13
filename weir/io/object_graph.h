// Checkpoints of objects (TensorFlow 2, Keras): tensors are stored under paths through an object graph, which also says
// what the variables were called.
#ifndef WEIR_IO_OBJECT_GRAPH_H_
#define WEIR_IO_OBJECT_GRAPH_H_

#include <map>
#include <string>

#include "weir/io/checkpoint_reader.h"

namespace weir {

// The key of each variable in the checkpoint: by its name, where only one has it ("dense/kernel", "dense/kernel/Adam";
// Keras puts the model's own name first, which may be left out), and by its paths in the object graph
// ("net/layers/0/kernel"), one through each object that holds it. Empty for a checkpoint without an object graph,
// DATA_LOSS if the graph cannot be read.
StatusOr<std::map<std::string, std::string>> ObjectGraphKeys(const CheckpointReader& reader);

}  // namespace weir

#endif  // WEIR_IO_OBJECT_GRAPH_H_
