"""Structures of values: lists, tuples, named tuples, dictionaries, attrs classes and dataclasses, nested at will.

A structure is flattened into a list of its leaves and packed again. Dictionaries are visited in the order of their
sorted keys, whatever the order of insertion, so that two dictionaries with equal keys flatten alike; packing keeps the
insertion order of the model. Strings, sets, arrays and `None` are leaves. With `expand_composites=True` a composite
value (a sparse or ragged tensor, a variable-length list of tensors behind one class) is a structure of its components.

The functions here are the `tf.nest` of the package; `weir.data` uses `weir.data.structure`, whose lists are leaves.
"""

import collections.abc as _abc
import dataclasses as _dataclasses

__all__ = ["assert_same_structure", "flatten", "flatten_with_path", "is_nested", "map_structure",
           "map_structure_with_path", "pack_sequence_as"]

_LEAVES = (str, bytes, bytearray, int, float, bool, type(None))


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_attrs(value):
    return hasattr(type(value), "__attrs_attrs__")


def _is_dataclass(value):
    return hasattr(type(value), "__tf_flatten__") and hasattr(type(value), "__tf_unflatten__")


def _composites():
    from weir.framework import CompositeTensor, TypeSpec
    return CompositeTensor, TypeSpec


def _is_composite(value):
    if isinstance(value, _LEAVES):
        return False
    composite, spec = _composites()
    if isinstance(value, composite):
        return True
    # A spec of one tensor is a leaf; specs of composite values have component specs.
    return isinstance(value, spec) and _spec_is_composite(value)


def _spec_is_composite(spec):
    from weir.framework import TensorSpec
    return not isinstance(spec, TensorSpec) and getattr(spec, "value_type", None) is not None and isinstance(
        spec.value_type, type) and issubclass(spec.value_type, _composites()[0])


def _sorted_keys(mapping):
    return sorted(mapping)


def _items(value):
    """(key, child) pairs of a nested value, in the order of flattening."""
    if isinstance(value, _abc.Mapping):
        return [(key, value[key]) for key in _sorted_keys(value)]
    if isinstance(value, _abc.MappingView):
        return list(enumerate(value))
    if _is_attrs(value):
        return [(a.name, getattr(value, a.name)) for a in type(value).__attrs_attrs__]
    if _is_dataclass(value):
        return list(enumerate(value.__tf_flatten__()[1]))
    if _is_namedtuple(value):
        return list(zip(value._fields, value))
    return list(enumerate(value))


def _composite_components(value):
    spec_class = _composites()[1]
    if isinstance(value, spec_class):
        return value._component_specs
    return value._type_spec._to_components(value)


def is_nested(structure):
    """True if `structure` is a list, tuple, mapping, attrs class or dataclass: something that `flatten` opens."""
    if isinstance(structure, _LEAVES):
        return False
    return (isinstance(structure, (list, tuple, _abc.Mapping, _abc.MappingView)) or _is_sequence(structure) or
            _is_attrs(structure) or _is_dataclass(structure))


def _is_sequence(value):
    return isinstance(value, _abc.Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview, range))


def _flatten_into(structure, out, expand_composites):
    if isinstance(structure, _LEAVES):
        out.append(structure)
    elif is_nested(structure):
        for _, child in _items(structure):
            _flatten_into(child, out, expand_composites)
    elif expand_composites and _is_composite(structure):
        _flatten_into(_composite_components(structure), out, True)
    else:
        out.append(structure)


def flatten(structure, expand_composites=False):
    """The leaves of `structure` as a list. A leaf alone gives a list of one; `None` is a leaf."""
    out = []
    _flatten_into(structure, out, expand_composites)
    return out


def flatten_with_path(structure, expand_composites=False):
    """A list of (path, leaf) pairs; a path is the tuple of keys and positions that leads to the leaf."""
    out = []

    def visit(value, path):
        if is_nested(value):
            for key, child in _items(value):
                visit(child, path + (key,))
        elif expand_composites and _is_composite(value):
            for key, child in _items(_as_nested(_composite_components(value))):
                visit(child, path + (key,))
        else:
            out.append((path, value))

    visit(structure, ())
    return out


def _as_nested(value):
    return value if is_nested(value) else (value,)


def _rebuild(instance, children):
    """A value like `instance` whose children, in the order of flattening, are `children`."""
    if isinstance(instance, _abc.Mapping):
        new = dict(zip(_sorted_keys(instance), children))
        ordered = [(key, new[key]) for key in instance]
        if isinstance(instance, dict) and type(instance) is dict:
            return dict(ordered)
        if hasattr(instance, "default_factory"):
            result = type(instance)(instance.default_factory)
            result.update(ordered)
            return result
        try:
            return type(instance)(ordered)
        except TypeError:
            result = instance.copy() if hasattr(instance, "copy") else dict(instance)
            result.update(ordered)
            return result
    if isinstance(instance, _abc.MappingView):
        return list(children)
    if _is_attrs(instance):
        return type(instance)(**{a.name: child for a, child in zip(type(instance).__attrs_attrs__, children)})
    if _is_dataclass(instance):
        metadata = instance.__tf_flatten__()[0]
        return type(instance).__tf_unflatten__(metadata, tuple(children))
    if _is_namedtuple(instance):
        return type(instance)(*children)
    if isinstance(instance, _abc.Sequence) and not isinstance(instance, (list, tuple)):
        try:
            return type(instance)(children)
        except TypeError:
            return list(children)
    try:
        return type(instance)(children)
    except TypeError:
        return list(children) if isinstance(instance, list) else tuple(children)


def _rebuild_composite(instance, components):
    spec_class = _composites()[1]
    if isinstance(instance, spec_class):
        return instance._from_components(components) if not _all_specs(components) else instance
    return instance._type_spec._from_components(components)


def _all_specs(values):
    spec_class = _composites()[1]
    return all(isinstance(value, spec_class) for value in flatten(values))


def _pack(structure, leaves, expand_composites):
    if is_nested(structure):
        return _rebuild(structure, [_pack(child, leaves, expand_composites) for _, child in _items(structure)])
    if expand_composites and _is_composite(structure):
        components = _composite_components(structure)
        return _rebuild_composite(structure, _pack(components, leaves, True))
    return next(leaves)


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """A value shaped like `structure` whose leaves are those of `flat_sequence`, in order."""
    if not (is_nested(flat_sequence) or hasattr(flat_sequence, "__iter__")) or isinstance(flat_sequence, (str, bytes)):
        raise TypeError(f"Attempted to pack value:\n  {flat_sequence}\ninto a structure, but found incompatible type "
                        f"`{type(flat_sequence)}` instead.")
    flat_sequence = list(flat_sequence)
    count = len(flatten(structure, expand_composites))
    if not is_nested(structure) and not (expand_composites and _is_composite(structure)):
        if len(flat_sequence) != 1:
            raise ValueError(f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the input is "
                             f"a sequence ({type(flat_sequence)}) of length {len(flat_sequence)}.\n  {flat_sequence}\n"
                             "nest cannot guarantee that it is safe to map one to the other.")
        return flat_sequence[0]
    if count != len(flat_sequence):
        raise ValueError(f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had {len(flat_sequence)} items.  "
                         f"Structure: {structure}, flat_sequence: {flat_sequence}.")
    return _pack(structure, iter(flat_sequence), expand_composites)


def _same_kind(a, b):
    if _is_namedtuple(a) and _is_namedtuple(b):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    if isinstance(a, _abc.Mapping) and isinstance(b, _abc.Mapping):
        return True
    if isinstance(a, list) and isinstance(b, list):
        return True
    return type(a) is type(b) or _is_wrapper_of(a, b) or _is_wrapper_of(b, a)


def _is_wrapper_of(a, b):
    return getattr(a, "__wrapped__", None) is not None and type(a.__wrapped__) is type(b)


def _shown(value):
    return f"type={type(value).__name__} str={value}"


def _assert_same(a, b, check_types, expand_composites):
    a_nested, b_nested = is_nested(a), is_nested(b)
    if expand_composites:
        a_composite, b_composite = _is_composite(a), _is_composite(b)
        if a_composite and b_composite:
            _assert_composites_match(a, b)
            return
        a_nested, b_nested = a_nested or a_composite, b_nested or b_composite
    if a_nested != b_nested:
        nested, leaf = (a, b) if a_nested else (b, a)
        raise ValueError(f'Substructure "{_shown(nested)}" is a sequence, while substructure "{_shown(leaf)}" is not')
    if not a_nested:
        return
    if check_types and not _same_kind(a, b):
        raise TypeError(f"The two namedtuples don't have the same sequence type. First structure {_shown(a)} has type "
                        f"{type(a).__name__}, while second structure {_shown(b)} has type {type(b).__name__}")
    a_items, b_items = _items(a), _items(b)
    if isinstance(a, _abc.Mapping) and isinstance(b, _abc.Mapping) and {k for k, _ in a_items} != {k for k, _ in b_items}:
        raise ValueError("The two dictionaries don't have the same set of keys. First structure has keys "
                         f"{_shown([k for k, _ in a_items])}, while second structure has keys "
                         f"{_shown([k for k, _ in b_items])}")
    if len(a_items) != len(b_items):
        raise ValueError("The two structures don't have the same number of elements. First structure: "
                         f"{_shown(a)}. Second structure: {_shown(b)}")
    for (_, x), (_, y) in zip(a_items, b_items):
        _assert_same(x, y, check_types, expand_composites)


def _assert_composites_match(a, b):
    spec_class = _composites()[1]
    a_spec = a if isinstance(a, spec_class) else a._type_spec
    b_spec = b if isinstance(b, spec_class) else b._type_spec
    if a_spec.most_specific_common_supertype([b_spec]) is None:
        raise ValueError(f"Incompatible CompositeTensor TypeSpecs: {a_spec} vs. {b_spec}")


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises ValueError if two structures differ in shape, TypeError if they differ in the type of a container."""
    try:
        _assert_same(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as error:
        raise type(error)("The two structures don't have the same nested structure.\n\n"
                          f"First structure: {_shown(nest1)}\n\nSecond structure: {_shown(nest2)}\n\n"
                          f"More specifically: {error}\nEntire first structure:\n{_dotted(nest1)}\n"
                          f"Entire second structure:\n{_dotted(nest2)}") from None


class _Dot:
    def __repr__(self):
        return "."


def _dotted(structure):
    try:
        return str(map_structure(lambda _: _Dot(), structure))
    except Exception:  # pylint: disable=broad-except
        return repr(structure)


def map_structure(func, *structure, **kwargs):
    """Applies `func` to the leaves of one or more structures of equal shape; the result is shaped like the first."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError("Only valid keyword arguments are `check_types` and `expand_composites`, not: `"
                         f"{'`, `'.join(kwargs)}`")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types, expand_composites=expand_composites)
    flat = [flatten(s, expand_composites) for s in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*flat)], expand_composites)


def map_structure_with_path(func, *structure, expand_composites=False):
    """As `map_structure`; `func` gets the path to the leaf as its first argument."""
    for other in structure[1:]:
        assert_same_structure(structure[0], other, expand_composites=expand_composites)
    flat = [flatten_with_path(s, expand_composites) for s in structure]
    results = [func(rows[0][0], *[leaf for _, leaf in rows]) for rows in zip(*flat)]
    return pack_sequence_as(structure[0], results, expand_composites)


def flatten_up_to(shallow_tree, input_tree):
    """The children of `input_tree` at the leaves of `shallow_tree`: these may be structures themselves."""
    out = []

    def visit(shallow, deep):
        if not is_nested(shallow):
            out.append(deep)
            return
        if not is_nested(deep):
            raise TypeError("If shallow structure is a sequence, input must also be a sequence. Input has type: "
                            f"{type(deep)}.")
        shallow_items, deep_items = _items(shallow), _items(deep)
        if len(shallow_items) != len(deep_items):
            raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                             f"{len(deep_items)}, while shallow structure has length {len(shallow_items)}.")
        if isinstance(shallow, _abc.Mapping):
            if not isinstance(deep, _abc.Mapping) or {k for k, _ in shallow_items} != {k for k, _ in deep_items}:
                raise ValueError("The two structures don't have the same keys.")
        for (_, x), (_, y) in zip(shallow_items, deep_items):
            visit(x, y)

    visit(shallow_tree, input_tree)
    return out


def map_structure_up_to(shallow_tree, func, *inputs):
    """Applies `func` at the leaves of `shallow_tree`, to whatever the inputs hold there."""
    flat = [flatten_up_to(shallow_tree, tree) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*row) for row in zip(*flat)])


def is_dataclass_instance(value):
    """True for an instance (not the class itself) of a Python dataclass."""
    return _dataclasses.is_dataclass(value) and not isinstance(value, type)
