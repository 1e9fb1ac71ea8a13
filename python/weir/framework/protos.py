"""Protocol buffers as Python classes under TensorFlow's names.

The descriptions of the messages come from the extension (weir/proto). They go into a pool of their own with the package
"tensorflow", so that they stand beside the classes of other packages. Needs the package `protobuf`, which is imported
when the first message is made.
"""

import functools

from weir import _core
from weir.framework.proto_modules import MODULES

__all__ = ["message", "enum", "module", "graph_def", "node_def"]


def _protobuf():
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError("protocol buffers as Python classes need the package protobuf: pip install protobuf") from error
    return descriptor_pb2, descriptor_pool, message_factory


def _rename(message_type):
    for field in message_type.field:
        if field.type_name.startswith(".weir."):
            field.type_name = ".tensorflow" + field.type_name[5:]
    for nested in message_type.nested_type:
        _rename(nested)


@functools.cache
def _pool():
    """The pool with TensorFlow's messages, and a function that makes the class of a description."""
    descriptor_pb2, descriptor_pool, message_factory = _protobuf()
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(_core.proto_files()).file:
        if file.package == "weir" or file.package.startswith("weir."):
            file.package = "tensorflow" + file.package[4:]
            file.name = file.name.replace("weir/proto/", "tensorflow/core/")
            for i, dependency in enumerate(file.dependency):
                file.dependency[i] = dependency.replace("weir/proto/", "tensorflow/core/")
            for message_type in file.message_type:
                _rename(message_type)
        pool.AddSerializedFile(file.SerializeToString())
    make = getattr(message_factory, "GetMessageClass", None)  # protobuf 4.22
    return pool, make or message_factory.MessageFactory(pool).GetPrototype


@functools.cache
def _homes():
    return {name: home for home, names in MODULES.items() for name in names.split()}


@functools.cache
def message(name):
    """The class of a message: message("GraphDef")."""
    pool, make = _pool()
    made = make(pool.FindMessageTypeByName("tensorflow." + name))
    home = _homes().get(name.split(".")[0])
    if home is not None:
        made.__module__ = home
    for nested in made.DESCRIPTOR.nested_types:
        if not hasattr(made, nested.name):  # protobuf before 4.22
            setattr(made, nested.name, message(f"{name}.{nested.name}"))
    return made


@functools.cache
def enum(name):
    """An enum with its numbers and names: enum("DataType").Name(1)."""
    _protobuf()
    from google.protobuf.internal import enum_type_wrapper
    pool, _ = _pool()
    return enum_type_wrapper.EnumTypeWrapper(pool.FindEnumTypeByName("tensorflow." + name))


def module(name):
    """What TensorFlow's generated module of this name holds, {} if there is none."""
    names = MODULES.get(name)
    if names is None:
        return {}
    out = {}
    for item in names.split():
        try:
            out[item] = message(item)
        except KeyError:
            wrapper = out[item] = enum(item)
            out.update(wrapper.items())
    out["DESCRIPTOR"] = next(iter(out.values())).DESCRIPTOR.file
    return out


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return message(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


GRAPH_VERSION = 2474  # of the graphs that TensorFlow 2.21 writes


def graph_def(data):
    graph = message("GraphDef").FromString(data)
    graph.versions.producer = graph.versions.producer or GRAPH_VERSION
    return graph


def node_def(operation):
    return message("NodeDef").FromString(operation._graph._to_node_def(operation._node))
