"""tensorflow.python.framework.dtypes: the types of references, float32_ref and so on."""

from weir.framework import dtypes as _dtypes

__all__ = []

for _name, _value in list(vars(_dtypes).items()):
    if isinstance(_value, _dtypes.DType) and not _name.startswith("_") and hasattr(_value, "_as_ref"):
        globals()[_name + "_ref"] = _value._as_ref
        __all__.append(_name + "_ref")
