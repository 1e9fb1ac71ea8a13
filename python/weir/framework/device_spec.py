"""tf.DeviceSpec: the name of a device in parts, each of which may be left open."""

__all__ = ["DeviceSpec"]

_PARTS = ("job", "replica", "task", "device_type", "device_index")


class DeviceSpec:
    """A device's name, possibly a partial one: "/job:worker/task:1/device:CPU:0". Immutable."""

    __slots__ = tuple("_" + part for part in _PARTS)

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self._job = job
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        self._device_type = None if device_type is None else str(device_type).upper()
        self._device_index = None if device_index is None else int(device_index)

    job = property(lambda self: self._job)
    replica = property(lambda self: self._replica)
    task = property(lambda self: self._task)
    device_type = property(lambda self: self._device_type)
    device_index = property(lambda self: self._device_index)

    @classmethod
    def from_string(cls, spec):
        """The parts of a name."""
        parts = {}
        for piece in filter(None, (spec or "").split("/")):
            words = piece.split(":")
            if words[0] in ("job", "replica", "task") and len(words) == 2:
                parts[words[0]] = words[1]
            elif words[0] == "device" and len(words) in (2, 3):
                parts["device_type"] = words[1]
                parts["device_index"] = words[2] if len(words) == 3 and words[2] != "*" else None
            elif words[0].upper() in ("CPU", "GPU", "TPU") and len(words) == 2:
                parts["device_type"], parts["device_index"] = words[0], words[1] if words[1] != "*" else None
            else:
                raise ValueError(f"Unknown attribute '{words[0]}' is encountered while parsing the device spec: '{spec}'.")
        return cls(**parts)

    def parse_from_string(self, spec):
        """The parts of a name."""
        return self.from_string(spec)

    def to_string(self):
        """The name, of the parts that are there."""
        out = "" if self._job is None else f"/job:{self._job}"
        for part in ("replica", "task"):
            value = getattr(self, part)
            out += "" if value is None else f"/{part}:{value}"
        if self._device_type is not None:
            out += f"/device:{self._device_type}:{'*' if self._device_index is None else self._device_index}"
        return out

    def _values(self):
        return {part: getattr(self, part) for part in _PARTS}

    def replace(self, **kwargs):
        """With some parts replaced."""
        return DeviceSpec(**dict(self._values(), **kwargs))

    def make_merged_spec(self, dev):
        """With the parts that `dev` has, and its own elsewhere."""
        return DeviceSpec(**dict(self._values(), **{k: v for k, v in dev._values().items() if v is not None}))

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"<DeviceSpec({', '.join(f'{k}={v}' for k, v in self._values().items() if v is not None)})>"


DeviceSpec.__module__ = "tensorflow.python.framework.device_spec"
