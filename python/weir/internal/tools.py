"""tensorflow.python.tools: freezing a graph, looking into checkpoints and SavedModels."""

import os

import numpy as np

import weir

__all__ = ["freeze_graph", "get_meta_graph_def", "get_saved_model_tag_sets", "print_tensors_in_checkpoint_file",
           "read_saved_model"]


def _parsed(path, message, binary):
    if not weir.io.gfile.exists(path):
        raise IOError(f"Input graph file '{path}' does not exist!")
    if binary:
        with weir.io.gfile.GFile(path, "rb") as file:
            message.ParseFromString(file.read())
    else:
        from google.protobuf import text_format
        with weir.io.gfile.GFile(path, "r") as file:
            text_format.Parse(file.read(), message)
    return message


def freeze_graph(input_graph, input_saver, input_binary, input_checkpoint, output_node_names, restore_op_name,
                 filename_tensor_name, output_graph, clear_devices, initializer_nodes, variable_names_whitelist="",
                 variable_names_denylist="", input_meta_graph=None, input_saved_model_dir=None,
                 saved_model_tags="serve", checkpoint_version=2):
    """A graph's file with the values of a checkpoint, or of a SavedModel, in the place of its variables; the GraphDef."""
    del restore_op_name, filename_tensor_name, checkpoint_version
    v1 = weir.compat.v1
    with weir.Graph().as_default() as graph, v1.Session() as session:
        if input_saved_model_dir:
            tags = saved_model_tags.split(",") if isinstance(saved_model_tags, str) else saved_model_tags
            v1.saved_model.load(session, tags, input_saved_model_dir)
        else:
            if input_meta_graph:
                meta = _parsed(input_meta_graph, v1.MetaGraphDef(), input_binary)
                saver = v1.train.import_meta_graph(meta, clear_devices=True)
            else:
                definition = _parsed(input_graph, v1.GraphDef(), input_binary)
                if clear_devices:
                    for node in definition.node:
                        node.device = ""
                weir.import_graph_def(definition, name="")
                saver = None
            if input_saver:
                saver_def = _parsed(input_saver, v1.train.SaverDef(), input_binary)
                session.run(saver_def.restore_op_name, {saver_def.filename_tensor_name: input_checkpoint})
            elif saver is not None:
                saver.restore(session, input_checkpoint)
            else:
                _restore(session, graph, input_checkpoint)
            if initializer_nodes:
                session.run(initializer_nodes.replace(" ", "").split(","))
        kept = [name for name in variable_names_whitelist.replace(" ", "").split(",") if name] or None
        left = [name for name in variable_names_denylist.replace(" ", "").split(",") if name] or None
        frozen = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), output_node_names.replace(" ", "").split(","), variable_names_whitelist=kept,
            variable_names_blacklist=left)
    if output_graph:
        with weir.io.gfile.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _restore(session, graph, checkpoint):
    """Assigns what a checkpoint holds to the variables of an imported graph."""
    reader = weir.train.load_checkpoint(checkpoint)
    for name in reader.get_variable_to_shape_map():
        try:
            op = graph.get_operation_by_name(name)
        except KeyError:
            continue
        value = reader.get_tensor(name)
        if op.type == "VarHandleOp":
            session.run(weir.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value))
        else:
            session.run(weir.raw_ops.Assign(ref=op.outputs[0], value=value))


def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors, all_tensor_names=False,
                                     count_exclude_pattern=""):
    """Prints the names of a checkpoint's tensors, with their values if asked, and how many numbers it holds."""
    import re
    reader = weir.train.load_checkpoint(file_name)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    if all_tensors or all_tensor_names:
        for name in sorted(shapes):
            print(f"tensor: {name} ({types[name].name}) {list(shapes[name])}")
            if all_tensors:
                print(reader.get_tensor(name))
    elif not tensor_name:
        print(reader.debug_string().decode("utf-8") if hasattr(reader, "debug_string") else sorted(shapes))
    else:
        print(f"tensor: {tensor_name} ({types[tensor_name].name}) {list(shapes[tensor_name])}")
        print(reader.get_tensor(tensor_name))
    counted = {name: shape for name, shape in shapes.items()
               if not (count_exclude_pattern and re.search(count_exclude_pattern, name))}
    print(f"# Total number of params: {sum(int(np.prod(shape)) for shape in counted.values())}")


def read_saved_model(saved_model_dir):
    """The SavedModel message of a folder."""
    from weir.framework import protos
    path = os.path.join(saved_model_dir, "saved_model.pb")
    if not weir.io.gfile.exists(path):
        raise IOError(f"SavedModel file does not exist at: {saved_model_dir}{os.path.sep}{{saved_model.pbtxt|saved_model.pb}}")
    return _parsed(path, protos.message("SavedModel")(), True)


def get_saved_model_tag_sets(saved_model_dir):
    """The tags of each graph."""
    return sorted(sorted(meta.meta_info_def.tags) for meta in read_saved_model(saved_model_dir).meta_graphs)


def get_meta_graph_def(saved_model_dir, tag_set):
    """The graph that has just these tags, as names with commas between."""
    wanted = set(tag_set.split(","))
    for meta in read_saved_model(saved_model_dir).meta_graphs:
        if set(meta.meta_info_def.tags) == wanted:
            return meta
    raise RuntimeError(f"MetaGraphDef associated with tag-set {tag_set} could not be found in the SavedModel")
