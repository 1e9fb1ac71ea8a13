"""Objects that SavedModels treat in their own way: assets, resources such as tables, options."""

import os

from weir.framework import convert_to_tensor, dtypes
from weir.framework.graph import init_scope
from weir.trackable import Trackable

__all__ = ["Asset", "CapturableResource", "TrackableResource", "LoadOptions", "SaveOptions", "VariablePolicy"]


class Asset(Trackable):
    """A file that belongs to a model; it is copied beside it."""

    def __init__(self, path):
        if hasattr(path, "numpy"):
            path = path.numpy().decode()
        with init_scope():
            self._path = convert_to_tensor(os.path.abspath(os.fspath(path)), dtypes.string)

    @property
    def asset_path(self):
        """Where the file is, a string tensor."""
        return self._path


class CapturableResource(Trackable):
    """A resource of the runtime that functions use: it is made and filled again when a model is loaded."""

    _resource_handle_ = None

    def _create_resource(self):
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self):
        pass

    def _destroy_resource(self):
        pass

    @property
    def resource_handle(self):
        """The handle, made when it is first asked for."""
        if self._resource_handle_ is None:
            with init_scope():
                self._resource_handle_ = self._create_resource()
        return self._resource_handle_

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        return dict(children, **resource_functions(self)) if save_type == "savedmodel" else children


class TrackableResource(CapturableResource):
    """The base of resources that programs define."""

    def __init__(self, device=""):
        self._device = device


def resource_functions(resource):
    """The functions that make, fill and drop a resource, for a SavedModel."""
    from weir.eager.function import Function
    made = resource.__dict__.get("_saved_functions")
    if made is None:
        def create():
            return resource._create_resource()

        def initialize():
            resource._initialize()
            return convert_to_tensor(1)

        def destroy():
            resource._destroy_resource()
            return convert_to_tensor(1)
        made = {name: Function(function, name, [], autograph=False) for name, function in (
            ("_create_resource", create), ("_initialize", initialize), ("_destroy_resource", destroy))}
        resource.__dict__["_saved_functions"] = made
    return made


class VariablePolicy:
    """Whether a model notes the devices of its variables."""
    NONE, SAVE_VARIABLE_DEVICES, EXPAND_DISTRIBUTED_VARIABLES = None, "save_variable_devices", "expand_distributed_variables"


class SaveOptions:
    """How a model is saved; what is not named in the documentation is accepted and has no effect."""

    def __init__(self, namespace_whitelist=None, save_debug_info=False, function_aliases=None,
                 experimental_debug_stripper=False, experimental_io_device=None, experimental_variable_policy=None,
                 experimental_custom_gradients=True, experimental_image_format=False, experimental_skip_saver=False,
                 experimental_sharding_callback=None, extra_tags=None):
        self.namespace_whitelist = list(namespace_whitelist or [])
        self.save_debug_info, self.function_aliases = save_debug_info, dict(function_aliases or {})
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """How a model is loaded."""

    def __init__(self, allow_partial_checkpoint=False, experimental_io_device=None, experimental_skip_checkpoint=False,
                 experimental_variable_policy=None, experimental_load_function_aliases=False):
        self.allow_partial_checkpoint, self.experimental_io_device = allow_partial_checkpoint, experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases


Asset.__module__ = "tensorflow.python.trackable.asset"
CapturableResource.__module__ = TrackableResource.__module__ = "tensorflow.python.trackable.resource"
SaveOptions.__module__ = "tensorflow.python.saved_model.save_options"
LoadOptions.__module__ = "tensorflow.python.saved_model.load_options"
