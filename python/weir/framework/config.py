"""tf.config and tf.device: the devices of this process and where operations run."""

import collections
import contextlib
import threading

from weir import _core

__all__ = ["device", "list_physical_devices", "list_logical_devices", "merge_devices"]

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
LogicalDeviceConfiguration = collections.namedtuple(
    "LogicalDeviceConfiguration", ["memory_limit", "experimental_priority", "experimental_device_ordinal"],
    defaults=(None, None, 0))


class _ThreadDevices(threading.local):
    def __init__(self):
        self.stack = []


_devices = _ThreadDevices()
_settings = {"inter": 0, "intra": 0, "soft": True, "growth": {}, "functions_eagerly": False, "deterministic": False,
             "tf32": True, "logical_cpus": 1, "devices_listed": False}


def _parse(name):
    """'/job:x/replica:0/task:1/device:CPU:0', '/CPU:0', 'gpu:1' as a dict."""
    parts = {}
    for piece in name.split("/"):
        if not piece:
            continue
        fields = piece.split(":")
        key = fields[0]
        if key in ("job", "replica", "task"):
            parts[key] = fields[1]
        elif key == "device":
            parts["type"] = fields[1].upper()
            if len(fields) > 2:
                parts["id"] = fields[2]
        else:
            parts["type"] = key.upper()
            if len(fields) > 1:
                parts["id"] = fields[1]
    return parts


def _format(parts):
    text = "".join(f"/{key}:{parts[key]}" for key in ("job", "replica", "task") if key in parts)
    if "type" in parts:
        text += f"/device:{parts['type']}:{parts.get('id', '*')}"
    return text


def _physical(parts):
    """Logical CPUs share the one that there is."""
    if parts.get("type") == "CPU" and _settings["logical_cpus"] > 1 and parts.get("id", "0").isdigit() and \
            int(parts["id"]) < _settings["logical_cpus"]:
        return dict(parts, id="0")
    return parts


def canonical_device(name):
    """The full name of a device of this process."""
    parts = {"job": "localhost", "replica": "0", "task": "0", "type": "CPU", "id": "0"}
    parts.update(_parse(name))
    return _format(parts)


def merge_devices(stack, graph=None):
    """The device that nested tf.device scopes ask for: inner ones override field by field."""
    merged = {}
    for entry in stack:
        if callable(entry):
            return ""  # asked for each operation
        parts = _parse(entry)
        if "type" in parts and "id" not in parts:
            merged.pop("id", None)
        merged.update(parts)
    return _format(_physical(merged))


@contextlib.contextmanager
def device(device_name):
    """Operations made inside run on this device."""
    if hasattr(device_name, "to_string"):
        device_name = device_name.to_string()
    if isinstance(device_name, (PhysicalDevice, LogicalDevice)):
        device_name = device_name.name.replace("/physical_device:", "/")
    graph = _core.current_graph()
    if graph is not None:
        with graph.device(device_name):
            yield
        return
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions when eager execution is enabled.")
    before = list(_devices.stack)
    _devices.stack = [] if device_name is None else before + [device_name]
    merged = merge_devices(_devices.stack)
    last = _core.set_device(merged or None)
    try:
        yield
    finally:
        _devices.stack = before
        _core.set_device(last)


def list_physical_devices(device_type=None):
    """The devices of this machine."""
    out = []
    for name in _core.list_devices():
        parts = _parse(name)
        if device_type in (None, parts["type"]):
            out.append(PhysicalDevice(f"/physical_device:{parts['type']}:{parts['id']}", parts["type"]))
    return out


def list_logical_devices(device_type=None):
    """The devices that operations may run on."""
    _settings["devices_listed"] = True
    out = []
    for name in _core.list_devices():
        parts = _parse(name)
        if device_type not in (None, parts["type"]):
            continue
        ids = range(_settings["logical_cpus"]) if parts["type"] == "CPU" and parts["id"] == "0" else [parts["id"]]
        out.extend(LogicalDevice(f"/device:{parts['type']}:{i}", parts["type"]) for i in ids)
    return out


get_visible_devices = list_physical_devices


def set_visible_devices(devices, device_type=None):
    pass


def set_logical_device_configuration(device, logical_devices):
    """Divides a CPU into several logical devices. They share its threads and memory, so this is for trying strategies."""
    if device.device_type != "CPU":
        raise ValueError(f"Only CPUs can be divided into logical devices, not {device.name}")
    if not logical_devices:
        raise ValueError("At least one logical device is needed")
    if _settings["devices_listed"] and len(logical_devices) != _settings["logical_cpus"]:
        raise RuntimeError("Virtual devices cannot be modified after being initialized")
    _settings["logical_cpus"] = len(logical_devices)


def get_logical_device_configuration(device):
    """What `set_logical_device_configuration` was told, or None."""
    count = _settings["logical_cpus"]
    return [LogicalDeviceConfiguration()] * count if device.device_type == "CPU" and count > 1 else None


def set_soft_device_placement(enabled):
    _settings["soft"] = bool(enabled)


def get_soft_device_placement():
    return _settings["soft"]


def run_functions_eagerly(run_eagerly):
    """With True tf.functions run their Python code on every call."""
    _settings["functions_eagerly"] = bool(run_eagerly)


def functions_run_eagerly():
    return _settings["functions_eagerly"]


class threading_config:
    @staticmethod
    def set_inter_op_parallelism_threads(count):
        _settings["inter"] = count

    @staticmethod
    def get_inter_op_parallelism_threads():
        return _settings["inter"]

    @staticmethod
    def set_intra_op_parallelism_threads(count):
        _settings["intra"] = count

    @staticmethod
    def get_intra_op_parallelism_threads():
        return _settings["intra"]


def set_memory_growth(device, enable):
    _settings["growth"][device] = bool(enable)


def get_memory_growth(device):
    return _settings["growth"].get(device)


def enable_op_determinism():
    _settings["deterministic"] = True


def disable_op_determinism():
    _settings["deterministic"] = False


def is_op_determinism_enabled():
    return _settings["deterministic"]


def enable_tensor_float_32_execution(enabled):
    _settings["tf32"] = bool(enabled)


def tensor_float_32_execution_enabled():
    return _settings["tf32"]


def get_device_details(device):
    """What is known of a GPU; nothing of a CPU."""
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    return {}


def get_memory_info(device):
    """The bytes in use on a device: raises, as the engine keeps no statistics of its allocators."""
    raise ValueError(f"Allocator stats not available for device '{device}'")


def get_memory_usage(device):
    return get_memory_info(device)


def reset_memory_stats(device):
    raise ValueError(f"Cannot reset memory stats on device '{device}': it keeps none")


_settings.setdefault("device_policy", "silent")
_settings.setdefault("synchronous", True)
_settings.setdefault("jit", "")
_settings.setdefault("optimizer", {})


def get_device_policy():
    """What happens when an input is on another device: it is copied ("silent")."""
    return _settings["device_policy"]


def set_device_policy(device_policy):
    """Accepted: "silent" is what is done."""
    if device_policy not in (None, "explicit", "warn", "silent", "silent_for_int32"):
        raise ValueError(f"Invalid argument `device_policy`: {device_policy!r}. Please refer to "
                         "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy for valid "
                         "`device_policy` arguments.")
    _settings["device_policy"] = device_policy or "silent"


def get_synchronous_execution():
    return _settings["synchronous"]


def set_synchronous_execution(enable):
    """Accepted: operations of a thread run one after the other in any case."""
    _settings["synchronous"] = True if enable is None else bool(enable)


class optimizer_config:  # pylint: disable=invalid-name
    """tf.config.optimizer: settings that programs may read back; the engine optimizes graphs by itself."""

    @staticmethod
    def get_jit():
        return _settings["jit"]

    @staticmethod
    def set_jit(enabled):
        _settings["jit"] = enabled if isinstance(enabled, str) else ("autoclustering" if enabled else "")

    @staticmethod
    def get_experimental_options():
        return dict(_settings["optimizer"])

    @staticmethod
    def set_experimental_options(options):
        _settings["optimizer"].update(options)
