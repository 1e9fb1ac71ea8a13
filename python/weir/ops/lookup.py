"""Lookup tables: from keys to values, fixed or mutable, and vocabularies."""

import collections
import itertools

from weir.framework import as_dtype, convert_to_tensor, executing_eagerly, init_scope, raw_ops
from weir.framework.graph import GraphKeys, get_default_graph
from weir.ops import array, dtypes, math
from weir.saved_model.objects import Asset, TrackableResource
from weir.trackable import Trackable

_names = itertools.count()


class TextFileIndex:
    """Which part of a line is a key or a value: a column number, or one of these."""
    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase(Trackable):
    """What fills a table."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)

    def initialize(self, table):
        """Fills a table."""
        raise NotImplementedError


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with tensors of keys and values."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        del name
        with init_scope() if not executing_eagerly() and not hasattr(keys, "op") else _Nothing():
            self._keys = convert_to_tensor(keys, dtype=key_dtype)
            self._values = convert_to_tensor(values, dtype=value_dtype)
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table):
        return raw_ops.InitializeTableV2(table_handle=table.resource_handle, keys=self._keys, values=self._values)


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class TextFileInitializer(TableInitializerBase):
    """Fills a table from the lines of a file."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t",
                 name=None, value_index_offset=0):
        del name
        if filename is None or (isinstance(filename, str) and not filename):
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self._filename = filename
        if isinstance(filename, str):
            with init_scope():
                self._asset = self._track_trackable(Asset(filename), "_filename")
            if executing_eagerly():
                self._filename = self._asset.asset_path
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._offset = vocab_size, delimiter, value_index_offset
        for index, kind, what in ((key_index, as_dtype(key_dtype), "key"), (value_index, as_dtype(value_dtype), "value")):
            if index == TextFileIndex.LINE_NUMBER and kind != dtypes.int64:
                raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is {index}, but received {kind}")
            if index < -2:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
        if key_index == value_index:
            raise ValueError(f"`key_index` and `value_index` should be different, but received: {key_index}")
        super().__init__(key_dtype, value_dtype)

    def initialize(self, table):
        return raw_ops.InitializeTableFromTextFileV2(
            table_handle=table.resource_handle, filename=convert_to_tensor(self._filename, dtype=dtypes.string),
            key_index=self._key_index, value_index=self._value_index,
            vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter,
            offset=self._offset)


class DatasetInitializer(TableInitializerBase):
    """Fills a table from a dataset of (key, value) pairs."""

    def __init__(self, dataset):
        self._dataset = dataset
        spec = dataset.element_spec
        super().__init__(spec[0].dtype, spec[1].dtype)

    def initialize(self, table):
        return raw_ops.InitializeTableFromDataset(table_handle=table.resource_handle,
                                                  dataset=self._dataset._variant_tensor)


class _Table(TrackableResource):
    """A resource with keys and values."""

    def __init__(self, handle, key_dtype, value_dtype, default_value, name):
        self._handle = handle
        self._resource_handle_ = handle
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._name = name

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)
    default_value = property(lambda self: self._default)
    resource_handle = property(lambda self: self._handle)
    name = property(lambda self: self._name)

    def size(self, name=None):
        """The number of keys."""
        return raw_ops.LookupTableSizeV2(table_handle=self._handle, name=name)

    def _on_values(self, keys, function):
        if hasattr(keys, "with_flat_values"):
            return keys.with_flat_values(function(keys.flat_values))
        if hasattr(keys, "dense_shape"):
            return keys.with_values(function(keys.values))
        return function(convert_to_tensor(keys, dtype=self._key_dtype if not hasattr(keys, "dtype") else None))

    def lookup(self, keys, name=None):
        """The values of keys; the default for those that are not there."""

        def find(flat):
            if flat.dtype != self._key_dtype:
                if flat.dtype.is_integer and self._key_dtype.is_integer:
                    flat = array.cast(flat, self._key_dtype)
                else:
                    raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {flat.dtype}")
            found = raw_ops.LookupTableFindV2(table_handle=self._handle, keys=flat, default_value=self._default, name=name)
            if not executing_eagerly() and self._default.shape.rank == 0:
                found.set_shape(flat.shape)
            return found

        return self._on_values(keys, find)

    def __getitem__(self, keys):
        return self.lookup(keys)

    def export(self, name=None):
        """All keys and values."""
        return tuple(raw_ops.LookupTableExportV2(table_handle=self._handle, Tkeys=self._key_dtype,
                                                 Tvalues=self._value_dtype, name=name))


class StaticHashTable(_Table):
    """A table that is filled once."""

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        del experimental_is_anonymous
        self._initializer = self._track_trackable(initializer, "_initializer")
        from weir.distribute import context
        frame = context.current()
        keep = getattr(frame.strategy, "keep_table", None) if frame is not None else None
        self._shared_name = f"hash_table_{next(_names)}" if keep is None else keep(self)
        with init_scope():
            super().__init__(self._create_resource(), initializer.key_dtype, initializer.value_dtype, default_value,
                             name or "hash_table")
            filled = initializer.initialize(self)
            if not executing_eagerly():
                get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, filled)

    def _create_resource(self):
        return raw_ops.HashTableV2(shared_name=self._shared_name, key_dtype=self._initializer.key_dtype,
                                   value_dtype=self._initializer.value_dtype)

    def _initialize(self):
        return self._initializer.initialize(self)


class _Growing(_Table):
    def insert(self, keys, values, name=None):
        """Adds keys or changes their values."""
        keys = convert_to_tensor(keys, dtype=self._key_dtype)
        values = convert_to_tensor(values, dtype=self._value_dtype)
        return raw_ops.LookupTableInsertV2(table_handle=self._handle, keys=keys, values=values, name=name)

    def remove(self, keys, name=None):
        """Drops keys; those that are not there are passed over."""
        keys = convert_to_tensor(keys, dtype=self._key_dtype)
        return raw_ops.LookupTableRemoveV2(table_handle=self._handle, keys=keys, name=name)

    erase = remove

    def lookup(self, keys, dynamic_default_values=None, name=None):
        """The values of keys; the default for those that are not there."""
        default = self._default if dynamic_default_values is None else dynamic_default_values
        return self._on_values(keys, lambda flat: raw_ops.LookupTableFindV2(
            table_handle=self._handle, keys=flat, default_value=default, name=name))

    def _serialize_to_tensors(self):
        keys, values = self.export()
        return {"-keys": keys, "-values": values}

    def _restore_from_tensors(self, tensors):
        return raw_ops.LookupTableImportV2(table_handle=self._handle, keys=tensors["-keys"], values=tensors["-values"])


class MutableHashTable(_Growing):
    """A table that changes."""

    def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True,
                 experimental_is_anonymous=False):
        del checkpoint, experimental_is_anonymous
        shared = f"mutable_hash_table_{next(_names)}"
        with init_scope():
            default = convert_to_tensor(default_value, dtype=as_dtype(value_dtype))
            if default.shape.rank == 0:
                handle = raw_ops.MutableHashTableV2(shared_name=shared, key_dtype=as_dtype(key_dtype),
                                                    value_dtype=as_dtype(value_dtype))
            else:
                handle = raw_ops.MutableHashTableOfTensorsV2(shared_name=shared, key_dtype=as_dtype(key_dtype),
                                                             value_dtype=as_dtype(value_dtype),
                                                             value_shape=default.shape)
            super().__init__(handle, key_dtype, value_dtype, default, name)


class DenseHashTable(_Growing):
    """A mutable table in two arrays; two keys are reserved for empty and deleted places."""

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets=None,
                 name="MutableDenseHashTable", checkpoint=True, experimental_is_anonymous=False):
        del checkpoint, experimental_is_anonymous
        shared = f"dense_hash_table_{next(_names)}"
        with init_scope():
            default = convert_to_tensor(default_value, dtype=as_dtype(value_dtype))
            handle = raw_ops.MutableDenseHashTableV2(
                empty_key=convert_to_tensor(empty_key, dtype=as_dtype(key_dtype)),
                deleted_key=convert_to_tensor(deleted_key, dtype=as_dtype(key_dtype)), shared_name=shared,
                value_dtype=as_dtype(value_dtype), value_shape=default.shape,
                initial_num_buckets=initial_num_buckets or 131072)
            super().__init__(handle, key_dtype, value_dtype, default, name)


FastHashSpec = collections.namedtuple("FastHashSpec", ["hasher", "key"])
_FAST = FastHashSpec("fasthash", None)


class StaticVocabularyTable:
    """Ids of a vocabulary; words that are not in it get ids of `num_oov_buckets` after it, by hash."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None,
                 experimental_is_anonymous=False):
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0.")
        if initializer is not None and initializer.value_dtype != dtypes.int64:
            raise TypeError(f"Invalid `value_dtype`, expected {dtypes.int64} but got {initializer.value_dtype}.")
        del experimental_is_anonymous
        self._buckets = num_oov_buckets
        self._name = name or "string_to_index"
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        self._key_dtype = as_dtype(lookup_key_dtype or (initializer.key_dtype if initializer else dtypes.string))

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: dtypes.int64)
    name = property(lambda self: self._name)

    @property
    def resource_handle(self):
        """The table of the vocabulary."""
        return None if self._table is None else self._table.resource_handle

    def size(self, name=None):
        """The number of ids."""
        return self._buckets if self._table is None else self._table.size(name) + self._buckets

    def lookup(self, keys, name=None):
        """The ids of words."""

        def find(flat):
            if flat.dtype != self._key_dtype:
                raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {flat.dtype}")
            words = flat if flat.dtype == dtypes.string else raw_ops.AsString(input=flat)
            buckets = raw_ops.StringToHashBucketFast(input=words, num_buckets=self._buckets)
            if self._table is None:
                return buckets
            known = self._table.lookup(flat if flat.dtype == self._table.key_dtype else array.cast(
                flat, self._table.key_dtype))
            return array.where(math.not_equal(known, array.constant(-1, dtypes.int64)), known,
                               buckets + self._table.size(), name=name)

        if hasattr(keys, "with_flat_values"):
            return keys.with_flat_values(find(keys.flat_values))
        if hasattr(keys, "dense_shape"):
            return keys.with_values(find(keys.values))
        return find(convert_to_tensor(keys))

    def __getitem__(self, keys):
        return self.lookup(keys)
