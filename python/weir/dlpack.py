"""tf.experimental.dlpack: memory shared with other libraries."""

from weir import _core

__all__ = ["to_dlpack", "from_dlpack"]


def to_dlpack(tf_tensor):
    """A capsule with the tensor's memory, for the `from_dlpack` of another library."""
    return _core.to_dlpack(tf_tensor)


def from_dlpack(dlcapsule):
    """The tensor in a capsule, or in an object with `__dlpack__`; compact memory is shared."""
    if hasattr(dlcapsule, "__dlpack__"):
        dlcapsule = dlcapsule.__dlpack__()
    return _core.from_dlpack(dlcapsule)
