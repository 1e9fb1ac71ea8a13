"""tensorflow.python.data.util.nest: structures of dataset elements. Lists are leaves."""

from weir.data import structure as _structure

__all__ = ["assert_same_structure", "assert_shallow_structure", "flatten", "flatten_up_to", "is_nested", "map_structure",
           "map_structure_up_to", "pack_sequence_as"]

is_nested = _structure.is_structure
flatten = _structure.flatten


def assert_same_structure(nest1, nest2, check_types=True):
    """Raises ValueError or TypeError if the structures differ."""
    if len(flatten(nest1)) != len(flatten(nest2)):
        raise ValueError(f"The two structures don't have the same number of elements. First structure: {nest1}, second "
                         f"structure: {nest2}.")
    _assert_same(nest1, nest2, check_types)


def _assert_same(a, b, check_types):
    if is_nested(a) != is_nested(b):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {a}, second structure: "
                         f"{b}.")
    if not is_nested(a):
        return
    if check_types and type(a) is not type(b):
        raise TypeError("The two structures don't have the same sequence type. First structure has type "
                        f"{type(a)}, while second structure has type {type(b)}.")
    ours, theirs = _structure._children(a), _structure._children(b)
    if isinstance(a, dict) and [k for k, _ in ours] != [k for k, _ in theirs]:
        raise ValueError(f"The two dictionaries don't have the same set of keys. First structure has keys {list(a)}, while "
                         f"second structure has keys {list(b)}.")
    for (_, x), (_, y) in zip(ours, theirs):
        _assert_same(x, y, check_types)


def pack_sequence_as(structure, flat_sequence):
    """The structure with other leaves."""
    if isinstance(flat_sequence, (str, bytes)) or not hasattr(flat_sequence, "__len__"):
        raise TypeError(f"`flat_sequence` must be a list; got a value of type {type(flat_sequence).__name__}.")
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(f"Could not pack sequence. Argument `structure` had {count} elements, but argument `flat_sequence` "
                         f"had {len(flat_sequence)} elements. Received structure: {structure}, flat_sequence: "
                         f"{flat_sequence}.")
    return _structure.pack(structure, flat_sequence)


def map_structure(func, *structure, **check_types_dict):
    """`func` of the leaves of structures of the same shape."""
    if not callable(func):
        raise TypeError(f"Argument `func` must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if set(check_types_dict) - {"check_types"}:
        raise ValueError("Only valid keyword argument for `check_types_dict` is 'check_types'. Got "
                         f"{check_types_dict}.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types_dict.get("check_types", True))
    flat = [flatten(s) for s in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*flat)])


def assert_shallow_structure(shallow_tree, input_tree, check_types=True):
    """Raises ValueError or TypeError unless `input_tree` has the structure of `shallow_tree`, and perhaps more below."""
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError("If shallow structure is a sequence, input must also be a sequence. Input has type: "
                        f"'{type(input_tree).__name__}'.")
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError("The two structures don't have the same sequence type. Input structure has type "
                        f"'{type(input_tree).__name__}', while shallow structure has type '{type(shallow_tree).__name__}'.")
    ours, theirs = _structure._children(shallow_tree), _structure._children(input_tree)
    if len(ours) != len(theirs):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                         f"{len(theirs)}, while shallow structure has length {len(ours)}.")
    for (_, x), (_, y) in zip(ours, theirs):
        assert_shallow_structure(x, y, check_types)


def flatten_up_to(shallow_tree, input_tree):
    """What `input_tree` has at the leaves of `shallow_tree`."""
    assert_shallow_structure(shallow_tree, input_tree)
    if not is_nested(shallow_tree):
        return [input_tree]
    pairs = zip(_structure._children(shallow_tree), _structure._children(input_tree))
    return [leaf for (_, shallow), (_, deep) in pairs for leaf in flatten_up_to(shallow, deep)]


def map_structure_up_to(shallow_tree, func, *inputs):
    """`func` of what the inputs have at the leaves of `shallow_tree`."""
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    flat = [flatten_up_to(shallow_tree, tree) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*values) for values in zip(*flat)])
