"""The fingerprint of a SavedModel: numbers that tell models apart without loading them."""

import os
import re
import uuid

from weir.framework import protos
from weir.framework.graph import eager_mode
from weir.framework.raw_ops import raw_ops
from weir.saved_model import constants

__all__ = ["Fingerprint", "read_fingerprint", "write_fingerprint"]

_PRODUCER = 4
_FIELDS = ("saved_model_checksum", "graph_def_program_hash", "signature_def_hash", "saved_object_graph_hash",
           "checkpoint_hash")


def _hash(data):
    with eager_mode():
        made = raw_ops.Fingerprint(data=[data], method="farmhash64")
        return int.from_bytes(made.numpy().tobytes(), "little")


def _program(graph_def):
    """The bytes of a graph and its functions without the numbers in names, which differ from process to process."""
    graph_def = type(graph_def).FromString(graph_def.SerializeToString())
    graph_def.ClearField("versions")
    text = graph_def.SerializeToString(deterministic=True)
    return re.sub(rb"(_inference_[A-Za-z0-9_]*?)_\d+", rb"\1", text)


def write_fingerprint(export_dir, model):
    """Writes the fingerprint of `model`, a SavedModel message, beside its files in `export_dir`."""
    meta = model.meta_graphs[0]
    signatures = b"".join(key.encode() + meta.signature_def[key].SerializeToString(deterministic=True)
                          for key in sorted(meta.signature_def))
    made = protos.message("FingerprintDef")(
        saved_model_checksum=_hash(_read(export_dir, constants.SAVED_MODEL_FILENAME_PB)),
        graph_def_program_hash=_hash(_program(meta.graph_def)), signature_def_hash=_hash(signatures),
        saved_object_graph_hash=_hash(re.sub(rb"(_inference_[A-Za-z0-9_]*?)_\d+", rb"\1",
                                             meta.object_graph_def.SerializeToString(deterministic=True))),
        uuid=str(uuid.uuid4().int))
    made.version.producer = _PRODUCER
    index = os.path.join(constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME + ".index")
    if os.path.exists(os.path.join(export_dir, index)):
        made.checkpoint_hash = _hash(_read(export_dir, index))
    with open(os.path.join(export_dir, constants.FINGERPRINT_FILENAME), "wb") as file:
        file.write(made.SerializeToString())


def _read(export_dir, name):
    with open(os.path.join(export_dir, name), "rb") as file:
        return file.read()


class Fingerprint:
    """The numbers of one SavedModel; two are equal if their program, signatures, objects and variables are."""

    def __init__(self, saved_model_checksum=None, graph_def_program_hash=None, signature_def_hash=None,
                 saved_object_graph_hash=None, checkpoint_hash=None, version=None):
        self.saved_model_checksum = saved_model_checksum
        self.graph_def_program_hash = graph_def_program_hash
        self.signature_def_hash = signature_def_hash
        self.saved_object_graph_hash = saved_object_graph_hash
        self.checkpoint_hash = checkpoint_hash
        self.version = version

    @classmethod
    def from_proto(cls, proto):
        """The Fingerprint of a FingerprintDef message."""
        return cls(*[getattr(proto, name) for name in _FIELDS], proto.version)

    def _numbers(self):
        return [getattr(self, name) for name in _FIELDS]

    def __eq__(self, other):
        return isinstance(other, (Fingerprint, protos.message("FingerprintDef"))) and all(
            getattr(self, name) == getattr(other, name) for name in _FIELDS[1:])

    __hash__ = None

    def __str__(self):
        return "\n".join(["SavedModel Fingerprint"] + [f"  {name}: {getattr(self, name)}" for name in _FIELDS])

    def __repr__(self):
        return f"Fingerprint({', '.join(str(n) for n in self._numbers())})"

    def singleprint(self):
        """The numbers of the program, the signatures, the objects and the variables as one string."""
        if None in self._numbers()[1:]:
            raise ValueError(f"A fingerprint with missing values has no singleprint: {self!r}")
        return "/".join(str(n) for n in self._numbers()[1:])


Fingerprint.__module__ = "tensorflow.python.saved_model.fingerprinting"


def read_fingerprint(export_dir):
    """The Fingerprint of the SavedModel in a folder."""
    export_dir = os.fspath(export_dir)
    try:
        data = _read(export_dir, constants.FINGERPRINT_FILENAME)
    except FileNotFoundError:
        raise FileNotFoundError(f"SavedModel Fingerprint Error: Could not find fingerprint in directory: {export_dir}") \
            from None
    return Fingerprint.from_proto(protos.message("FingerprintDef").FromString(data))
