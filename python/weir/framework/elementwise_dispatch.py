"""Handlers of a type for all public functions that work element by element, of one value or of two."""

import importlib


__all__ = ["dispatch_for_binary_elementwise_apis", "dispatch_for_binary_elementwise_assert_apis",
           "dispatch_for_unary_elementwise_apis", "unregister_dispatch_for"]

_UNARY = """bitwise.invert cast clip_by_value dtypes.saturate_cast identity ones_like zeros_like image.adjust_brightness
image.adjust_contrast image.adjust_gamma image.adjust_hue image.adjust_saturation image.convert_image_dtype
image.grayscale_to_rgb image.rgb_to_grayscale math.abs math.acos math.acosh math.angle math.asin math.asinh math.atan
math.atanh math.ceil math.conj math.cos math.cosh math.digamma math.erf math.erfc math.erfcinv math.erfinv math.exp
math.expm1 math.floor math.imag math.is_finite math.is_inf math.is_nan math.lgamma math.log math.log1p math.log_sigmoid
math.logical_not math.ndtri math.negative math.real math.reciprocal math.reciprocal_no_nan math.rint math.round math.rsqrt
math.sigmoid math.sign math.sin math.sinh math.softplus math.sqrt math.square math.tan math.tanh nn.elu nn.gelu
nn.leaky_relu nn.relu nn.relu6 nn.selu nn.silu nn.softsign random.shuffle strings.as_string strings.length strings.lower
strings.regex_full_match strings.regex_replace strings.strip strings.substr strings.to_hash_bucket
strings.to_hash_bucket_fast strings.to_hash_bucket_strong strings.to_number strings.unicode_script strings.upper""".split()
_BINARY = """bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift complex
math.add math.atan2 math.divide math.divide_no_nan math.equal math.floordiv math.floormod math.greater math.greater_equal
math.igamma math.igammac math.less math.less_equal math.logical_and math.logical_or math.logical_xor math.maximum
math.minimum math.multiply math.multiply_no_nan math.nextafter math.not_equal math.pow math.squared_difference math.subtract
math.truediv math.xdivy math.xlog1py math.xlogy math.zeta""".split()
_ASSERTS = """debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal debugging.assert_less
debugging.assert_less_equal debugging.assert_near debugging.assert_none_equal""".split()
_registered = {}  # handler -> [(function, entry)]


def _functions(names):
    """The public functions of these names that take handlers."""
    table = importlib.import_module("weir._names").TABLE
    found = {}
    for name in names:
        home, attribute = table[name]
        function = getattr(importlib.import_module(home), attribute)
        if hasattr(function, "_weir_handlers"):
            found[id(function)] = function
    return found.values()


def _register(names, types, arity):
    def decorate(handler):
        for function in _functions(names):
            def call(*args, _function=function, **kwargs):
                if not all(i < len(args) and isinstance(args[i], types[i]) for i in range(arity)):
                    return NotImplemented
                return handler(_bound(_function, args[arity:], kwargs), *args[:arity])
            entry = (types, call)
            function._weir_handlers.insert(0, entry)
            _registered.setdefault(handler, []).append((function, entry))
        return handler
    return decorate


def _bound(function, args, kwargs):
    """The function with its other arguments, as handlers call it."""
    if not args and not kwargs:
        return function
    return lambda *values: function(*values, *args, **kwargs)


def dispatch_for_unary_elementwise_apis(x_type):
    """A decorator of `handler(api_func, x)` for all functions of one value."""
    return _register(_UNARY, (x_type,), 1)


def dispatch_for_binary_elementwise_apis(x_type, y_type):
    """A decorator of `handler(api_func, x, y)` for all functions of two values."""
    return _register(_BINARY, (x_type, y_type), 2)


def dispatch_for_binary_elementwise_assert_apis(x_type, y_type):
    """A decorator of `handler(api_func, x, y)` for all assertions about two values."""
    return _register(_ASSERTS, (x_type, y_type), 2)


def unregister_dispatch_for(dispatch_target):
    """Undoes the registration of a handler."""
    if dispatch_target not in _registered:
        raise ValueError(f"Function {dispatch_target} was not registered using a `@dispatch_for_*` decorator.")
    for function, entry in _registered.pop(dispatch_target):
        function._weir_handlers.remove(entry)
