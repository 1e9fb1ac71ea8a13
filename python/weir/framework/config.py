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
             "tf32": True, "logical_cpus": 1, "devices_listed": False, "visible": None, "virtual": {}}


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
            if key.lower() not in ("cpu", "gpu", "tpu", "xla_cpu", "xla_gpu"):
                raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{name}'.")
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
    try:
        merged = merge_devices(_devices.stack)
    except ValueError:
        _devices.stack = before
        raise
    last = _core.set_device(merged or None)
    try:
        yield
    finally:
        _devices.stack = before
        _core.set_device(last)


def list_physical_devices(device_type=None):
    """The devices of this machine. Starts none of them."""
    devices = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    devices += [PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(len(_core.gpu_cards()))]
    if _core.devices_started():
        types = {device.device_type for device in devices}
        for parts in map(_parse, _core.list_devices()):
            if parts["type"] not in types | {"GPU"}:
                devices.append(PhysicalDevice(f"/physical_device:{parts['type']}:{parts['id']}", parts["type"]))
    return [device for device in devices if device_type in (None, device.device_type)]


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


def get_visible_devices(device_type=None):
    """The physical devices that the process uses."""
    visible = _settings["visible"]
    devices = list_physical_devices() if visible is None else visible
    return [device for device in devices if device_type in (None, device.device_type)]


def _check_known(device):
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def set_visible_devices(devices, device_type=None):
    """The process uses these devices; those of other types than `device_type`, if it is given, stay as they are."""
    devices = list(devices) if isinstance(devices, (list, tuple)) and not isinstance(devices, PhysicalDevice) else \
        [devices]
    for device in devices:
        _check_known(device)
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r}")
    kept = [] if device_type is None else [d for d in get_visible_devices() if d.device_type != device_type]
    visible = kept + devices
    if visible == get_visible_devices():
        return
    if _gpus_are_started():
        raise RuntimeError("Visible devices cannot be modified after being initialized")
    _settings["visible"] = visible
    _configure_gpus()


def set_logical_device_configuration(device, logical_devices):
    """Divides a device: a GPU into several with a share of its memory each, the CPU into several that share its threads
    and memory. Both are for trying what is meant for several devices."""
    _check_known(device)
    if device.device_type == "CPU":
        if not logical_devices:
            raise ValueError("At least one logical device is needed")
        for logical in logical_devices:
            if logical.memory_limit is not None:
                raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
            if logical.experimental_priority is not None:
                raise ValueError("Setting experimental_priority on CPU virtual devices is currently not supported")
        if _settings["devices_listed"] and len(logical_devices) != _settings["logical_cpus"]:
            raise RuntimeError("Virtual devices cannot be modified after being initialized")
        _settings["logical_cpus"] = len(logical_devices)
        return
    if device.device_type != "GPU":
        raise ValueError(f"Virtual devices are not supported for {device.device_type}")
    for logical in logical_devices:
        if logical.memory_limit is None:
            raise ValueError("Setting memory limit is required for GPU virtual devices")
    if _settings["virtual"].get(device) == list(logical_devices):
        return
    if _gpus_are_started():
        raise RuntimeError("Virtual devices cannot be modified after being initialized")
    _settings["virtual"][device] = list(logical_devices)
    _configure_gpus()


def get_logical_device_configuration(device):
    """What `set_logical_device_configuration` was told, or None."""
    _check_known(device)
    count = _settings["logical_cpus"]
    if device.device_type == "CPU":
        return [LogicalDeviceConfiguration()] * count if count > 1 else None
    return _settings["virtual"].get(device)


def _gpus_are_started():
    return bool(_core.gpu_cards()) and _core.devices_started()


def _configure_gpus():
    """Hands what was chosen to the engine, which starts the GPUs with the first operation."""
    from weir.framework import protos
    config = protos.message("ConfigProto")()
    gpus = get_visible_devices("GPU")
    if not gpus:
        config.device_count["GPU"] = 0
    else:
        config.gpu_options.visible_device_list = ",".join(gpu.name.rsplit(":", 1)[1] for gpu in gpus)
    if any(_settings["virtual"].get(gpu) for gpu in gpus):
        for gpu in gpus:
            entry = config.gpu_options.experimental.virtual_devices.add()
            logical_devices = _settings["virtual"].get(gpu) or []
            entry.memory_limit_mb.extend(logical.memory_limit for logical in logical_devices)
            if any(logical.experimental_priority is not None for logical in logical_devices):
                entry.priority.extend(logical.experimental_priority or 0 for logical in logical_devices)
    _core.configure_gpus(config.SerializeToString())


def set_soft_device_placement(enabled):
    """Without it an operation that has no kernel on the device of tf.device is an error."""
    _settings["soft"] = bool(enabled)
    _core.set_policy("soft_placement", _settings["soft"])


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
    """Accepted: memory of a GPU is taken as it is needed in any case."""
    if device is None or device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
    if device in _settings["virtual"]:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type == "CPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    if _settings["growth"].get(device) == bool(enable):
        return
    if _gpus_are_started():
        raise RuntimeError("Physical devices cannot be modified after being initialized")
    _settings["growth"][device] = bool(enable)


def get_memory_growth(device):
    _check_known(device)
    return _settings["growth"].get(device)


def enable_op_determinism():
    _settings["deterministic"] = True
    _core.set_policy("deterministic", True)


def disable_op_determinism():
    _settings["deterministic"] = False
    _core.set_policy("deterministic", False)


def is_op_determinism_enabled():
    return _settings["deterministic"]


def enable_tensor_float_32_execution(enabled):
    """Whether products of floats on a GPU may round their operands to 10 bits after the point."""
    _settings["tf32"] = bool(enabled)
    _core.set_policy("tensor_float_32", _settings["tf32"])


def tensor_float_32_execution_enabled():
    return _settings["tf32"]


def get_device_details(device):
    """What is known of a GPU; nothing of a CPU."""
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    _check_known(device)
    if device.device_type != "GPU":
        return {}
    name, major, minor = _core.gpu_cards()[int(device.name.rsplit(":", 1)[1])]
    return {"device_name": name, "compute_capability": (major, minor)}


def _device_of_statistics(device):
    """The name of the one device that `device` means."""
    if isinstance(device, (PhysicalDevice, LogicalDevice)):
        device = device.name.replace("/physical_device:", "/device:")
    wanted = _parse(device)
    if "type" not in wanted:
        raise ValueError(f"Failed parsing device name: '{device}'")
    found = [name for name in _core.list_devices()
             if all(_parse(name).get(key) == value for key, value in wanted.items())]
    if not found:
        raise ValueError(f"No matching devices found for '{device}'")
    if len(found) > 1:
        raise ValueError(f"More than one device matching '{device}'")
    return found[0]


def get_memory_info(device):
    """The bytes that tensors take on a GPU now, and at most so far."""
    info = _core.memory_info(_device_of_statistics(device))
    if info is None:
        raise ValueError(f"Allocator stats not available for device '{device}'")
    return {"current": info[0], "peak": info[1]}


def get_memory_usage(device):
    return get_memory_info(device)["current"]


def reset_memory_stats(device):
    """Counts the peak of `get_memory_info` from now on."""
    if not _core.reset_memory_stats(_device_of_statistics(device)):
        raise ValueError(f"Cannot reset stats for device '{device}'")


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
