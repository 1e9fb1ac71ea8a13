"""tensorflow.python.util.nest: tf.nest, and structures compared and mapped down to the depth of a shallower one."""

import collections.abc

from weir import nest as _nest
from weir.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as

__all__ = ["assert_same_structure", "assert_shallow_structure", "flatten", "flatten_dict_items", "flatten_up_to",
           "flatten_with_joined_string_paths", "flatten_with_tuple_paths", "flatten_with_tuple_paths_up_to",
           "get_traverse_shallow_structure", "is_attrs", "is_mapping", "is_namedtuple", "is_nested",
           "is_nested_or_composite", "is_sequence_or_composite", "list_to_tuple", "map_structure", "map_structure_up_to",
           "map_structure_with_paths", "map_structure_with_tuple_paths", "map_structure_with_tuple_paths_up_to",
           "pack_sequence_as", "same_namedtuples", "yield_flat_paths"]

is_attrs = _nest._is_attrs
is_sequence = is_nested


def is_mapping(obj):
    return isinstance(obj, collections.abc.Mapping)


def is_namedtuple(instance, strict=False):
    """Whether a value is a namedtuple; with `strict`, not of a class derived from one."""
    return _nest._is_namedtuple(instance) and (not strict or type(instance).__bases__ == (tuple,))


def same_namedtuples(nest1, nest2):
    return type(nest1).__name__ == type(nest2).__name__ and nest1._fields == nest2._fields


def is_nested_or_composite(seq):
    return is_nested(seq) or _nest._is_composite(seq)


is_sequence_or_composite = is_nested_or_composite


def flatten_dict_items(dictionary):
    """`{(a, b): (1, 2)}` as `{a: 1, b: 2}`."""
    if not is_mapping(dictionary):
        raise TypeError("FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, instead of "
                        f"'{type(dictionary).__name__}'.")
    flat = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} "
                             f"elements. Key: {keys}, value: {values}.")
        for name, part in zip(keys, values):
            if name in flat:
                raise ValueError(f"Cannot flatten dict because this key is not unique: {name}")
            flat[name] = part
    return flat


# Paths.


def flatten_with_tuple_paths(structure, expand_composites=False):
    """Pairs of the path to a leaf, a tuple of keys and positions, and the leaf."""
    return list(zip(yield_flat_paths(structure, expand_composites), flatten(structure, expand_composites)))


def yield_flat_paths(nest, expand_composites=False):
    for path, _ in _nest.flatten_with_path(nest, expand_composites):
        yield path


def flatten_with_joined_string_paths(structure, separator="/", expand_composites=False):
    """Pairs of the path to a leaf as a string, and the leaf."""
    return [(separator.join(str(part) for part in path), leaf)
            for path, leaf in flatten_with_tuple_paths(structure, expand_composites)]


def map_structure_with_paths(func, *structure, **kwargs):
    """As map_structure; `func` gets the path to the leaves first, a string."""
    def with_string(path, *leaves, **more):
        return func("/".join(str(part) for part in path), *leaves, **more)
    return map_structure_with_tuple_paths(with_string, *structure, **kwargs)


def map_structure_with_tuple_paths(func, *structure, **kwargs):
    """As map_structure; `func` gets the path to the leaves first, a tuple."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


# Down to the leaves of a shallower structure.


def assert_shallow_structure(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """Raises ValueError or TypeError unless `input_tree` has the structure of `shallow_tree`, and perhaps more below."""
    for _ in _pairs(shallow_tree, input_tree, check_types, expand_composites, ()):
        pass


def _pairs(shallow, deep, check_types, expand_composites, path):
    opens = is_nested_or_composite if expand_composites else is_nested
    if not opens(shallow):
        yield path, deep
        return
    if not opens(deep):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(deep)}.")
    if check_types and not _nest._same_kind(shallow, deep) and not (
            expand_composites and _nest._is_composite(shallow) and _nest._is_composite(deep)):
        raise TypeError("The two structures don't have the same sequence type. Input structure has type "
                        f"{type(deep)}, while shallow structure has type {type(shallow)}.")
    ours, theirs = _children(shallow), _children(deep)
    if len(ours) != len(theirs):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                         f"{len(theirs)}, while shallow structure has length {len(ours)}.")
    if is_mapping(shallow) and is_mapping(deep):
        lacking = [key for key, _ in ours if key not in deep]
        if lacking:
            raise ValueError("The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the "
                             f"following keys that are not in the input_tree: {lacking}.")
    for (key, child), (_, other) in zip(ours, theirs):
        yield from _pairs(child, other, check_types, expand_composites, path + (key,))


def _children(value):
    if is_nested(value):
        return _nest._items(value)
    return _nest._items(_nest._as_nested(_nest._composite_components(value)))


def flatten_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """What `input_tree` has at the leaves of `shallow_tree`."""
    return [value for _, value in _pairs(shallow_tree, input_tree, check_types, expand_composites, ())]


def flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """Pairs of a path to a leaf of `shallow_tree` and what `input_tree` has there."""
    return list(_pairs(shallow_tree, input_tree, check_types, expand_composites, ()))


def map_structure_up_to(shallow_tree, func, *inputs, **kwargs):
    """`func` of what the inputs have at the leaves of `shallow_tree`, in its structure."""
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda _, *values: func(*values), *inputs, **kwargs)


def map_structure_with_tuple_paths_up_to(shallow_tree, func, *inputs, **kwargs):
    """As map_structure_up_to; `func` gets the path first."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    flat = [flatten_up_to(shallow_tree, tree, check_types, expand_composites) for tree in inputs]
    paths = [path for path, _ in _pairs(shallow_tree, inputs[0], check_types, expand_composites, ())]
    results = [func(path, *values, **kwargs) for path, *values in zip(paths, *flat)]
    return pack_sequence_as(shallow_tree, results, expand_composites)


def get_traverse_shallow_structure(traverse_fn, structure, expand_composites=False):
    """A shallow structure of truth values: True where `traverse_fn` goes no further down because there is a leaf."""
    opens = is_nested_or_composite if expand_composites else is_nested
    to_traverse = traverse_fn(structure)
    if not opens(structure):
        if not isinstance(to_traverse, bool):
            raise TypeError(f"traverse_fn returned structure: {to_traverse} for non-structure: {structure}")
        return to_traverse
    if not opens(to_traverse):
        if not isinstance(to_traverse, bool):
            raise TypeError(f"traverse_fn returned a non-bool scalar: {to_traverse} for input: {structure}")
        if not to_traverse:
            return False
        return _rebuilt(structure, [get_traverse_shallow_structure(traverse_fn, child, expand_composites)
                                    for _, child in _children(structure)])
    assert_shallow_structure(to_traverse, structure, expand_composites=expand_composites)
    out = []
    for (_, decision), (_, child) in zip(_children(to_traverse), _children(structure)):
        if not isinstance(decision, bool):
            raise TypeError(f"traverse_fn didn't return a depth=1 structure of bools.  saw: {to_traverse}  for structure: "
                            f"{structure}")
        out.append(get_traverse_shallow_structure(traverse_fn, child, expand_composites) if decision else False)
    return _rebuilt(structure, out)


def _rebuilt(structure, children):
    return _nest._rebuild(structure, children) if is_nested(structure) else tuple(children)


def list_to_tuple(structure):
    """The structure with tuples in the place of lists."""
    def change(value):
        if isinstance(value, (list, tuple)) and not is_namedtuple(value):
            return tuple(change(child) for child in value)
        return _nest._rebuild(value, [change(child) for _, child in _nest._items(value)]) if is_nested(value) else value
    return change(structure)
