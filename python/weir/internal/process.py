"""What programs ask of this process: client.device_lib, platform.build_info, framework.versions, eager.monitoring."""

import weir
from weir.framework import protos

__all__ = ["list_local_devices"]


def list_local_devices(session_config=None):
    """The devices of this process as DeviceAttributes."""
    del session_config
    out = []
    for device in weir.config.list_logical_devices():
        place = weir.DeviceSpec.from_string(device.name)
        name = place.replace(job=place.job or "localhost", replica=place.replica or 0, task=place.task or 0).to_string()
        name = name.replace("/job:localhost/replica:0/task:0", "")
        memory = 268435456
        if device.device_type == "GPU":
            memory = int(weir.config.experimental.get_device_details(
                weir.config.list_physical_devices("GPU")[place.device_index]).get("memory_limit", memory))
        out.append(protos.message("DeviceAttributes")(name=name, device_type=device.device_type, memory_limit=memory,
                                                      xla_global_id=-1))
    return out


class Cell:
    """A number or a text that may change."""

    def __init__(self, value):
        self._value = value

    def increase_by(self, value):
        self._value += value

    def set(self, value):
        self._value = value

    def value(self):
        return self._value


class _Metric:
    initial = 0

    def __init__(self, name, description, *labels):
        self._cells = {}
        self._labels = labels
        self.name, self.description = name, description

    def get_cell(self, *labels):
        if len(labels) != len(self._labels):
            raise ValueError(f"Invalid metrics, expected {len(self._labels)} labels, got {len(labels)}")
        return self._cells.setdefault(labels, Cell(self.initial))


class Counter(_Metric):
    """A number that grows."""


class IntGauge(_Metric):
    """A number."""


class BoolGauge(_Metric):
    """True or False."""
    initial = False


class StringGauge(_Metric):
    """A text."""
    initial = ""
