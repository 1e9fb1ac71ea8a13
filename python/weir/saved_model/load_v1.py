"""SavedModels of TensorFlow 1 for tf.saved_model.load: their signatures as functions over a session."""

from weir import _core
from weir.framework import as_dtype, convert_to_tensor
from weir.framework.graph import Graph, eager_mode
from weir.framework.type_spec import TensorSpec
from weir.saved_model import constants, structures
from weir.trackable import AutoTrackable

__all__ = ["load_v1"]


class _Signature:
    """A signature that runs in the session of its model. It has no gradients and cannot be traced into functions."""

    def __init__(self, session, signature):
        self._session, self._signature = session, signature
        self.structured_input_signature = ((), {k: _spec(v, k) for k, v in signature.inputs.items()})
        self.structured_outputs = {k: _spec(v, k) for k, v in signature.outputs.items()}

    def __call__(self, *args, **kwargs):
        if _core.current_graph() is not None:
            raise NotImplementedError("a signature of a TensorFlow 1 SavedModel inside of a tf.function")
        names = sorted(self._signature.inputs)
        given = dict(zip(names, args), **kwargs)
        if set(given) != set(names):
            raise TypeError(f"the signature takes {names}, not {sorted(given)}")
        feeds = {self._signature.inputs[k].name: convert_to_tensor(v, as_dtype(self._signature.inputs[k].dtype)).numpy()
                 for k, v in given.items()}
        keys = list(self._signature.outputs)
        values = self._session.run([self._signature.outputs[k].name for k in keys], feeds)
        with eager_mode():
            return {k: convert_to_tensor(v) for k, v in zip(keys, values)}


def _spec(info, name):
    return TensorSpec(structures.from_shape_proto(info.tensor_shape), as_dtype(info.dtype), name)


def load_v1(export_dir, model, tags):
    """An object with `signatures`, `graph` and `variables`."""
    from weir.compat.v1.saved_models import load
    from weir.compat.v1.session import Session
    if tags is None:
        if len(model.meta_graphs) != 1:
            raise ValueError(f"Importing a SavedModel with `tf.saved_model.load` requires a `tags=` argument if there is more "
                             f"than one MetaGraph. Available tags: {[list(m.meta_info_def.tags) for m in model.meta_graphs]}")
        tags = list(model.meta_graphs[0].meta_info_def.tags)
    graph = Graph()
    session = Session(graph=graph)
    meta = load(session, tags, export_dir)
    root = AutoTrackable()
    root.__dict__["graph"] = graph
    root.__dict__["session"] = session
    root.__dict__["signatures"] = {key: _Signature(session, signature) for key, signature in meta.signature_def.items()
                                   if key != constants.INIT_OP}
    root.__dict__["tensorflow_version"] = meta.meta_info_def.tensorflow_version
    return root
