"""SavedModels of TensorFlow 1: a graph with signatures, written from a session and loaded into one."""

import os
import shutil

from weir.compat.v1 import graph_ops
from weir.compat.v1.saver import Saver, export_meta_graph, import_meta_graph
from weir.framework import protos
from weir.framework.graph import GraphKeys, Operation, get_default_graph
from weir.saved_model import constants, structures
from weir.saved_model.load import contains_saved_model, find_meta_graph, read_saved_model

__all__ = ["Builder", "build_signature_def", "build_tensor_info", "classification_signature_def",
           "get_tensor_from_tensor_info", "is_valid_signature", "load", "main_op", "main_op_with_restore",
           "maybe_saved_model_directory", "predict_signature_def", "regression_signature_def", "simple_save"]


def build_tensor_info(tensor):
    """What a signature says of a tensor."""
    made = protos.message("TensorInfo")()
    if hasattr(tensor, "dense_shape"):
        made.coo_sparse.values_tensor_name = tensor.values.name
        made.coo_sparse.indices_tensor_name = tensor.indices.name
        made.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        made.name = tensor.name
    made.dtype = tensor.dtype.base_dtype.as_datatype_enum
    made.tensor_shape.CopyFrom(structures.shape_proto(tensor.shape))
    return made


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The tensor of the graph that a TensorInfo names."""
    graph = graph or get_default_graph()
    return graph.get_tensor_by_name(f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name)


def build_signature_def(inputs=None, outputs=None, method_name=None, defaults=None):
    """A signature of TensorInfos by name."""
    made = protos.message("SignatureDef")()
    for key, info in (inputs or {}).items():
        made.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        made.outputs[key].CopyFrom(info)
    if method_name is not None:
        made.method_name = method_name
    return made


def _infos(tensors):
    return {key: build_tensor_info(tensor) for key, tensor in tensors.items()}


def predict_signature_def(inputs, outputs):
    """A signature from tensors to tensors."""
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), constants.PREDICT_METHOD_NAME)


def regression_signature_def(examples, predictions):
    if examples is None or predictions is None:
        raise ValueError("Regression `examples` and `predictions` cannot be None.")
    return build_signature_def(_infos({constants.REGRESS_INPUTS: examples}),
                               _infos({constants.REGRESS_OUTPUTS: predictions}), constants.REGRESS_METHOD_NAME)


def classification_signature_def(examples, classes, scores):
    if examples is None or (classes is None and scores is None):
        raise ValueError("Classification `examples` and one of `classes` and `scores` cannot be None.")
    outputs = {}
    if classes is not None:
        outputs[constants.CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        outputs[constants.CLASSIFY_OUTPUT_SCORES] = scores
    return build_signature_def(_infos({constants.CLASSIFY_INPUTS: examples}), _infos(outputs),
                               constants.CLASSIFY_METHOD_NAME)


def is_valid_signature(signature_def):
    """Whether a signature has inputs, outputs and a method that servers know."""
    return bool(signature_def.inputs) and bool(signature_def.outputs) and signature_def.method_name in (
        constants.PREDICT_METHOD_NAME, constants.CLASSIFY_METHOD_NAME, constants.REGRESS_METHOD_NAME)


def main_op():
    """What is run when a model is loaded: local variables and tables."""
    return graph_ops.group(graph_ops.local_variables_initializer(), graph_ops.tables_initializer())


main_op_with_restore = main_op


def maybe_saved_model_directory(export_dir):
    return contains_saved_model(export_dir)


class Builder:
    """Writes a SavedModel of one or several graphs."""

    def __init__(self, export_dir):
        self._dir = os.fspath(export_dir)
        if os.path.exists(self._dir) and os.listdir(self._dir):
            raise AssertionError(f"Export directory {self._dir} already exists, and isn't empty. Please choose a different "
                                 "export directory, or delete all the contents of the specified directory.")
        os.makedirs(self._dir, exist_ok=True)
        self._model = protos.message("SavedModel")(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_variables = False

    def _add(self, tags, signatures, assets, init_op, saver, clear_devices):
        graph = get_default_graph()
        saver = saver or Saver(graph_ops.global_variables() + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
                               sharded=True, allow_empty=True)
        meta = export_meta_graph(saver_def=saver.saver_def, clear_devices=clear_devices)
        meta.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            meta.signature_def[key].CopyFrom(signature)
        if init_op is not None:
            meta.collection_def[constants.MAIN_OP_KEY].node_list.value.append(init_op.name)
        for tensor in assets or []:
            from weir.framework.conversion import get_static_value
            path = get_static_value(tensor)
            path = path.item() if hasattr(path, "item") else path
            path = path.decode() if isinstance(path, bytes) else str(path)
            folder = os.path.join(self._dir, constants.ASSETS_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            shutil.copy(path, os.path.join(folder, os.path.basename(path)))
            entry = meta.asset_file_def.add(filename=os.path.basename(path))
            entry.tensor_info.name = tensor.name
            entry.tensor_info.dtype = 7
        self._model.meta_graphs.append(meta)
        return saver

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_collection=None, clear_devices=False,
                                     init_op=None, train_op=None, strip_default_attrs=False, saver=None, main_op=None,  # pylint: disable=redefined-outer-name
                                     legacy_init_op=None):
        """The first graph, with the values of its variables in the session."""
        if self._has_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        with sess.graph.as_default():
            saver = self._add(tags, signature_def_map, assets_collection, init_op if init_op is not None else
                              main_op if main_op is not None else legacy_init_op, saver, clear_devices)
            folder = os.path.join(self._dir, constants.VARIABLES_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            saver.save(sess, os.path.join(folder, constants.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
        self._has_variables = True

    def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None, clear_devices=False, init_op=None,
                       train_op=None, saver=None, main_op=None, strip_default_attrs=False, legacy_init_op=None):  # pylint: disable=redefined-outer-name
        """Another graph, which uses the same variables."""
        if not self._has_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        self._add(tags, signature_def_map, assets_collection, init_op if init_op is not None else main_op, saver,
                  clear_devices)

    def save(self, as_text=False):
        """Writes the file; gives its path."""
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._dir, name)
        with open(path, "wb") as file:
            file.write(str(self._model).encode() if as_text else self._model.SerializeToString())
        return path


Builder.__module__ = "tensorflow.python.saved_model.builder_impl"


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """A SavedModel of one signature, as servers read it."""
    builder = Builder(export_dir)
    with session.graph.as_default():
        signature = {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)}
        builder.add_meta_graph_and_variables(
            session, [constants.SERVING], signature, assets_collection=session.graph.get_collection(
                GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op, clear_devices=True)
    builder.save()


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Adds the graph with these tags to the session's, restores its variables and runs its initializer."""
    meta = find_meta_graph(read_saved_model(export_dir), tags)
    with sess.graph.as_default():
        saver = import_meta_graph(meta, import_scope=import_scope)
        path = os.path.join(export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)
        if saver is not None and os.path.exists(path + ".index") and saver.saver_def is not None:
            saver.restore(sess, path)
        prefix = import_scope + "/" if import_scope else ""
        feeds = {prefix + entry.tensor_info.name: os.path.join(export_dir, constants.ASSETS_DIRECTORY, entry.filename)
                 for entry in meta.asset_file_def}
        operation = None
        if constants.INIT_OP in meta.signature_def:
            operation = meta.signature_def[constants.INIT_OP].outputs[constants.INIT_OP].name
        else:
            for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
                if key in meta.collection_def and meta.collection_def[key].node_list.value:
                    operation = meta.collection_def[key].node_list.value[0]
                    break
        if operation:
            element = sess.graph.as_graph_element(prefix + operation)
            sess.run(element if isinstance(element, Operation) else element.op, feed_dict=feeds)
    return meta
