"""train.warm_start: variables that begin with the values of a checkpoint, rows and columns by vocabularies if need be."""

import collections

import numpy as np

import weir as tf
from weir.compat.v1.saver import init_from_checkpoint

__all__ = ["VocabInfo", "warm_start"]

_v1 = tf.compat.v1


class VocabInfo(collections.namedtuple("VocabInfo", ["new_vocab", "new_vocab_size", "num_oov_buckets", "old_vocab",
                                                     "old_vocab_size", "backup_initializer", "axis"])):
    """Which entries of a vocabulary the rows (axis 0) or columns (axis 1) of a variable stand for, now and then."""

    def __new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size=-1, backup_initializer=None,
                axis=0):
        if axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}")
        return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size,
                               backup_initializer, axis)


def _parts(variable):
    return list(variable._get_variable_list()) if hasattr(variable, "_get_variable_list") else [variable]


def _name(variable):
    """The name of a variable in checkpoints."""
    if hasattr(variable, "_get_variable_list"):
        return variable.name
    info = variable._get_save_slice_info()
    return info.full_name if info is not None else variable.op.name


def _by_name(variables):
    """The variables by name; the parts of one that is partitioned are together."""
    found = {}
    for variable in variables:
        found.setdefault(_name(variable), []).append(variable)
    return found


def _chosen(wanted):
    """The variables that `wanted` asks for: a pattern of names, a list of patterns or of variables, or None."""
    if wanted is None:
        return {}
    if isinstance(wanted, str):
        return _by_name(_v1.get_collection(_v1.GraphKeys.TRAINABLE_VARIABLES, scope=wanted))
    if isinstance(wanted, list) and all(isinstance(w, str) for w in wanted):
        return _by_name(v for w in wanted for v in _v1.get_collection(_v1.GraphKeys.GLOBAL_VARIABLES, scope=w))
    if isinstance(wanted, list):
        return _by_name(wanted)
    raise ValueError("If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are "
                     f"{[type(w) for w in wanted] if isinstance(wanted, list) else type(wanted)}")


def _places(info, offset, count):
    """Where the old vocabulary has entries offset ... offset + count - 1 of the new one; -1 for those that it lacks."""
    def entries(path, size):
        with open(path, encoding="utf-8") as lines:
            words = lines.read().splitlines()
        return words if size in (None, -1) else words[:size]
    old = {word: i for i, word in enumerate(entries(info.old_vocab, info.old_vocab_size))}
    return np.array([old.get(word, -1) for word in entries(info.new_vocab, info.new_vocab_size)[offset:offset + count]],
                    np.int64)


def _warm_start_with_vocab(variables, name, reader, info):
    """Rows or columns are taken from where the old vocabulary has their entry; new entries are initialized."""
    saved = reader.get_tensor(name)
    initialize = info.backup_initializer or _v1.zeros_initializer()
    offset = 0
    for variable in variables:
        shape = variable.shape.as_list()
        places = _places(info, offset, shape[info.axis])
        places = np.concatenate([places, np.full(shape[info.axis] - len(places), -1, np.int64)])  # out of the vocabulary
        values = np.take(saved, np.maximum(places, 0), info.axis)
        found = np.broadcast_to((places >= 0).reshape([-1] + [1] * (len(shape) - 1 - info.axis)), shape)
        value = tf.where(found, values, initialize(shape, dtype=variable.dtype.base_dtype))
        variable._initializer_op = tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
        variable._initial_value = value
        offset += shape[info.axis]


def warm_start(ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None,
               var_name_to_prev_var_name=None):
    """Variables of the graph begin with what a checkpoint holds for them, or for their earlier names."""
    vocabularies, earlier = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    chosen = _chosen(vars_to_warm_start)
    missing = [name for name in vocabularies if name not in chosen]
    if missing:
        every = _by_name(_v1.global_variables())
        chosen.update({name: every[name] for name in missing if name in every})
    used_vocabularies, used_names, plain = set(), set(), {}
    checkpoint = tf.train.latest_checkpoint(ckpt_to_initialize_from) or ckpt_to_initialize_from
    reader = tf.train.load_checkpoint(checkpoint)
    for name, variables in chosen.items():
        if name in earlier:
            used_names.add(name)
        source = earlier.get(name, name)
        if name in vocabularies:
            used_vocabularies.add(name)
            _warm_start_with_vocab([p for v in variables for p in _parts(v)], source, reader, vocabularies[name])
        else:
            for variable in variables:
                plain.setdefault(source, []).append(variable)
    for source, variables in plain.items():
        for variable in variables:
            init_from_checkpoint(checkpoint, [(source, variable)])
    for kind, given, used in (("var_name_to_prev_var_name", set(earlier), used_names),
                              ("var_name_to_vocab_info", set(vocabularies), used_vocabularies)):
        if given - used:
            raise ValueError(f"You provided the following variables in {kind} that were not used: {given - used}.  Perhaps you "
                             f"misspelled them?  Here is the list of viable variable names: {set(chosen) or given}")
