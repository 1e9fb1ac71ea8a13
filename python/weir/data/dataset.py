"""`tf.data.Dataset`: a sequence of elements, described by a variant tensor and a spec.

Every method makes one dataset op over the variants of its inputs. Functions given to `map` and its kin are traced once,
with AutoGraph, over the flat tensors of an element; what they capture is passed along. Iterating makes an iterator
resource (`weir.data.iterator`); threads, buffers and order are the engine's.
"""

import functools

import numpy as np

from weir.autograph import tf_convert
from weir.data import function_owners, structure
from weir.data.iterator import NumpyIterator, OwnedIterator
from weir.data.kinds import name_results
from weir.data.options import Options
from weir.framework import (CompositeTensor, TensorShape, TensorSpec, TypeSpec, as_dtype, convert_to_tensor, errors,
                            executing_eagerly, get_static_value, is_tensor, raw_ops, trace_function)
from weir.ops import array, dtypes, math

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def _int64(value):
    if is_tensor(value):
        return math.cast(value, dtypes.int64)
    return convert_to_tensor(value, dtype=dtypes.int64)


class Function:
    """A user's function over the elements of a spec, traced.

    `spec` is what it returns, `value` goes into the op's function attribute, `captures` into its other arguments.
    """

    def __init__(self, function, input_spec, use_autograph=True, name="dataset_function"):
        function_owners.remove_unowned()
        converted = tf_convert(function) if use_autograph else function
        self.spec = None

        def body(*tensors):
            element = structure.from_tensors(input_spec, tensors) if input_spec is not None else ()
            if input_spec is None:
                result = converted()
            elif isinstance(element, tuple) and not hasattr(element, "_fields"):
                result = converted(*element)
            else:
                result = converted(element)
            result = structure.normalize(_lists_as_tuples(result))
            self.spec = structure.spec_of(result)
            self.result = result
            return structure.to_tensors(self.spec, result)

        specs = structure.flat_specs(input_spec) if input_spec is not None else []
        self.traced = trace_function(body, specs, name=name)
        self.captures = list(self.traced.captures)
        self._value = None

    @property
    def value(self):
        """What the op's function attribute takes."""
        if self._value is None:
            self._value = self.traced.finish(self.captures)
            function_owners.new_owner(self._value)
        return self._value


def _lists_as_tuples(value):
    """A function may return a list for a tuple only if its elements cannot be one tensor."""
    if isinstance(value, list):
        try:
            return convert_to_tensor(value)
        except (ValueError, TypeError):
            return tuple(_lists_as_tuples(v) for v in value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_lists_as_tuples(v) for v in value)
    return value


class Dataset(CompositeTensor):
    """A sequence of elements that are read in order; see the methods for how to make and change one."""

    _kind = "_VariantDataset"  # what it is printed as

    def __init__(self, variant_tensor, element_spec=None, options=None, inputs=()):
        self._variant_tensor = variant_tensor
        self._spec = element_spec
        self._options = options or Options()
        self._input_datasets = tuple(inputs)
        function_owners.adopt(variant_tensor, [i._variant_tensor for i in self._input_datasets])

    @property
    def element_spec(self):
        """The spec of the elements."""
        return self._spec

    def _attributes(self, spec=None):
        return structure.types_and_shapes(self.element_spec if spec is None else spec)

    def _derive(self, variant, spec=None):
        return Dataset(variant, self.element_spec if spec is None else spec, self._options, [self])

    def options(self):
        """The options set on this dataset and its inputs."""
        return self._options

    def _inputs(self):
        return list(self._input_datasets)

    @property
    def _type_spec(self):
        return DatasetSpec(self.element_spec)

    def __repr__(self):
        return f"<{self._kind} element_spec={self.element_spec!r}>"

    # Reading.

    def __iter__(self):
        return OwnedIterator(self)

    def __bool__(self):
        return True

    __nonzero__ = __bool__

    def __len__(self):
        if not executing_eagerly():
            raise TypeError("`tf.data.Dataset` only supports `len` in eager mode. Use `tf.data.Dataset.cardinality()` "
                            "instead.")
        count = int(self.cardinality())
        if count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return count

    def as_numpy_iterator(self):
        """An iterator over numpy arrays."""
        if not executing_eagerly():
            raise RuntimeError("`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode.")
        return NumpyIterator(self)

    def cardinality(self, name=None):
        """The number of elements: -1 if infinite, -2 if unknown."""
        return raw_ops.DatasetCardinality(input_dataset=self._variant_tensor, name=name)

    def get_single_element(self, name=None):
        """The only element."""
        tensors = raw_ops.DatasetToSingleElement(dataset=self._variant_tensor, name=name, **self._attributes())
        return structure.from_tensors(self.element_spec, tensors)

    # Making.

    @staticmethod
    def from_tensors(tensors, name=None):
        """One element."""
        del name
        element = structure.normalize(tensors)
        spec = structure.spec_of(element)
        flat = structure.to_tensors(spec, element)
        return Dataset(raw_ops.TensorDataset(components=flat, output_shapes=[s.shape for s in structure.flat_specs(spec)]),
                       spec)

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        """The slices of tensors along their first dimension."""
        del name
        element = structure.normalize(tensors)
        batched = structure.spec_of(element)
        if not structure.flatten(batched):
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        for leaf in structure.flatten(batched):
            if isinstance(leaf, TensorSpec) and leaf.shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        spec = structure.unbatched(batched)
        sizes = [leaf.shape[0] for leaf in structure.flatten(batched)
                 if isinstance(leaf, TensorSpec) and leaf.shape.rank and leaf.shape[0] is not None]
        for size in sizes:
            if size != sizes[0]:
                raise ValueError(f"Dimensions {sizes[0]} and {size} are not compatible")
        flat = structure.to_batched_tensors(batched, element)
        variant = raw_ops.TensorSliceDataset(components=flat,
                                             output_shapes=[s.shape for s in structure.flat_specs(spec)])
        return Dataset(variant, spec)

    @staticmethod
    def range(*args, **kwargs):
        """The numbers of a range, int64 unless `output_type` says otherwise."""
        output_type = as_dtype(kwargs.pop("output_type", dtypes.int64))
        kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"Unknown arguments: {', '.join(kwargs)}")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else tuple(args) + (1,) * (3 - len(args))
        spec = TensorSpec([], output_type)
        variant = raw_ops.RangeDataset(start=_int64(start), stop=_int64(stop), step=_int64(step),
                                       output_types=[output_type], output_shapes=[TensorShape([])])
        return Dataset(variant, spec)

    @staticmethod
    def counter(start=0, step=1, dtype=dtypes.int64, name=None):
        """Numbers without end."""
        del name
        start, step = _int64(start), _int64(step)
        numbers = Dataset.range(np.iinfo(np.int64).max).map(lambda i: start + i * step)
        return numbers if as_dtype(dtype) == dtypes.int64 else numbers.map(lambda i: math.cast(i, dtype))

    @staticmethod
    def zip(*args, datasets=None, name=None):
        """Elements of several datasets side by side, as long as the shortest."""
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        if len(args) == 1:
            datasets = args[0]
        elif len(args) > 1:
            datasets = args
        for leaf in structure.flatten(datasets):
            if not isinstance(leaf, Dataset):
                raise TypeError("Invalid `datasets`. `datasets` is expected to be a (nested) structure of "
                                f"`tf.data.Dataset` objects. Encountered object of type {type(leaf)}")
        inputs = structure.flatten(datasets)
        spec = structure.map_structure(lambda d: d.element_spec, datasets)
        variant = raw_ops.ZipDataset(input_datasets=[d._variant_tensor for d in inputs], name=name,
                                     **structure.types_and_shapes(spec))
        options = functools.reduce(lambda a, b: a.merge(b._options), inputs, Options())
        return Dataset(variant, spec, options, inputs)

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None):
        """Elements of a Python generator, which is called anew for each pass."""
        del name
        from weir.data.generator import from_generator
        return from_generator(generator, output_types, output_shapes, args, output_signature)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        """The names of files that match patterns, in random order unless told otherwise."""
        del name
        pattern = convert_to_tensor(file_pattern, dtype=dtypes.string)
        matching = raw_ops.MatchingFiles(pattern=pattern)
        if executing_eagerly() and int(array.shape(matching)[0]) == 0:
            raise errors.InvalidArgumentError(None, None, f"No files matched pattern: {pattern.numpy()}")
        dataset = Dataset.from_tensor_slices(matching)
        if shuffle is None or shuffle:
            count = raw_ops.Maximum(x=array.shape(matching, out_type=dtypes.int64)[0], y=_int64(1))
            dataset = dataset.shuffle(count, seed=seed)
        return dataset

    @staticmethod
    def random(seed=None, rerandomize_each_iteration=None, name=None):
        """Random int64 numbers without end."""
        del name
        first, second = _seeds(seed)
        spec = TensorSpec([], dtypes.int64)
        return Dataset(raw_ops.RandomDataset(seed=first, seed2=second, **structure.types_and_shapes(spec)), spec)

    @staticmethod
    def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False,
                             rerandomize_each_iteration=None):
        """Elements of several datasets, drawn at random by weights."""
        datasets = list(datasets)
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if len(datasets) == 1:
            return datasets[0]
        del rerandomize_each_iteration
        if isinstance(weights, Dataset):
            logits = weights.map(lambda w: raw_ops.Log(x=w))
        else:
            if weights is None:
                weights = [1.0] * len(datasets)
            weights = convert_to_tensor(weights)
            if weights.dtype not in (dtypes.float32, dtypes.float64):
                weights = math.cast(weights, dtypes.float32)
            if weights.shape.rank != 1 or weights.shape[0] not in (None, len(datasets)):
                raise ValueError(f"Invalid `weights`. The shape of `weights` should be compatible with "
                                 f"`[len(datasets)]` but is {weights.shape}.")
            logits = Dataset.from_tensors(raw_ops.Log(x=weights)).repeat()
        seeds = Dataset.random(seed=seed).batch(2)

        def choose(logit, pair):
            return array.squeeze(raw_ops.StatelessMultinomial(logits=array.expand_dims(logit, 0), num_samples=1,
                                                              seed=pair, output_dtype=dtypes.int64), [0, 1])

        return Dataset._interleaved(datasets, Dataset.zip((logits, seeds)).map(choose), stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        """Elements of several datasets in the order that a dataset of indices gives."""
        datasets = list(datasets)
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if not isinstance(choice_dataset, Dataset):
            raise TypeError("Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is "
                            f"{type(choice_dataset)}.")
        return Dataset._interleaved(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def _interleaved(datasets, selector, stop_on_empty):
        spec = functools.reduce(structure.most_general, [d.element_spec for d in datasets])
        variant = raw_ops.DirectedInterleaveDataset(
            selector_input_dataset=selector._variant_tensor,
            data_input_datasets=[d._variant_tensor for d in datasets], stop_on_empty_dataset=stop_on_empty,
            **structure.types_and_shapes(spec))
        return Dataset(variant, spec, inputs=datasets + [selector])

    @staticmethod
    def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
        """A dataset that `save` wrote."""
        del wait
        import os
        import pickle
        if element_spec is None:
            with open(os.path.join(path, "element_spec.pickle"), "rb") as source:
                element_spec = pickle.load(source)
        reader = reader_func or (lambda shards: shards.interleave(lambda shard: shard, cycle_length=AUTOTUNE,
                                                                  num_parallel_calls=AUTOTUNE))
        function = Function(reader, DatasetSpec(DatasetSpec(element_spec)), name="reader")
        variant = raw_ops.LoadDataset(path=path, reader_func_other_args=function.captures,
                                      compression=compression or "", reader_func=function.value,
                                      **structure.types_and_shapes(element_spec))
        return Dataset(variant, element_spec)

    def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
        """Writes the elements to files."""
        if checkpoint_args is not None:
            raise NotImplementedError("Dataset.save with checkpoint_args is not supported")
        import os
        import pickle
        function = Function(shard_func or (lambda *_: array.constant(0, dtypes.int64)), self.element_spec, name="shard")
        use = shard_func is not None
        dataset = raw_ops.SaveDatasetV2(input_dataset=self._variant_tensor, path=path,
                                        shard_func_other_args=function.captures, compression=compression or "",
                                        shard_func=function.value, use_shard_func=use, **self._attributes())
        for _ in Dataset(dataset, self.element_spec):
            pass
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "element_spec.pickle"), "wb") as out:
            pickle.dump(self.element_spec, out)

    # Changing the order and number of elements.

    def concatenate(self, dataset, name=None):
        """These elements, then those of another dataset."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`dataset` must be a Dataset, got {type(dataset)}")
        try:
            spec = structure.most_general(self.element_spec, dataset.element_spec)
        except (ValueError, TypeError) as error:
            raise TypeError("Incompatible dataset elements: "
                            f"{self.element_spec} vs. {dataset.element_spec}.") from error
        variant = raw_ops.ConcatenateDataset(input_dataset=self._variant_tensor,
                                             another_dataset=dataset._variant_tensor, name=name,
                                             **self._attributes(spec))
        return Dataset(variant, spec, self._options, [self, dataset])

    def prefetch(self, buffer_size, name=None):
        """Makes elements ahead of their use."""
        variant = raw_ops.PrefetchDataset(input_dataset=self._variant_tensor,
                                          buffer_size=_int64(-1 if buffer_size is None else buffer_size), name=name,
                                          **self._attributes())
        return self._derive(variant)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None):
        """Draws elements at random from a buffer of `buffer_size`."""
        first, second = _seeds(seed)
        variant = raw_ops.ShuffleDataset(input_dataset=self._variant_tensor, buffer_size=_int64(buffer_size),
                                         seed=first, seed2=second,
                                         reshuffle_each_iteration=reshuffle_each_iteration is not False, name=name,
                                         **self._attributes())
        return self._derive(variant)

    def cache(self, filename="", name=None):
        """Keeps the elements of the first pass, in memory or in a file."""
        variant = raw_ops.CacheDataset(input_dataset=self._variant_tensor,
                                       filename=convert_to_tensor(filename, dtype=dtypes.string), name=name,
                                       **self._attributes())
        return self._derive(variant)

    def _counted(self, op, count, name):
        variant = op(input_dataset=self._variant_tensor, count=_int64(-1 if count is None else count), name=name,
                     **self._attributes())
        return self._derive(variant)

    def repeat(self, count=None, name=None):
        """The elements several times over, for ever by default."""
        return self._counted(raw_ops.RepeatDataset, count, name)

    def take(self, count, name=None):
        """The first `count` elements."""
        return self._counted(raw_ops.TakeDataset, count, name)

    def skip(self, count, name=None):
        """All but the first `count` elements."""
        return self._counted(raw_ops.SkipDataset, count, name)

    def shard(self, num_shards, index, name=None):
        """Every `num_shards`-th element from `index` on."""
        variant = raw_ops.ShardDataset(input_dataset=self._variant_tensor, num_shards=_int64(num_shards),
                                       index=_int64(index), name=name, **self._attributes())
        return self._derive(variant)

    def enumerate(self, start=0, name=None):
        """Pairs of a number and an element."""
        del name
        numbers = Dataset.range(start, np.iinfo(np.int64).max)
        return Dataset.zip((numbers, self))

    # Batches.

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        """Consecutive elements stacked."""
        known = get_static_value(batch_size) if is_tensor(batch_size) else batch_size
        size = int(known) if drop_remainder and known is not None else None
        spec = structure.batched(self.element_spec, size)
        common = dict(input_dataset=self._variant_tensor, batch_size=_int64(batch_size),
                      drop_remainder=convert_to_tensor(drop_remainder, dtype=dtypes.bool), name=name,
                      **self._attributes(spec))
        if num_parallel_calls is None:
            variant = raw_ops.BatchDatasetV2(**common)
        else:
            variant = raw_ops.ParallelBatchDataset(num_parallel_calls=_int64(num_parallel_calls),
                                                   deterministic=_deterministic(deterministic), **common)
        return self._derive(variant, spec)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
        """Consecutive elements padded to one shape and stacked."""
        for leaf in structure.flatten(self.element_spec):
            if not isinstance(leaf, TensorSpec):
                raise TypeError(f"`padded_batch` is only supported for datasets that produce tensor elements but got "
                                f"{leaf}.")
        if padded_shapes is None:
            for leaf in structure.flatten(self.element_spec):
                if leaf.shape.rank is None:
                    raise ValueError("You must provide `padded_shapes` argument because component has unknown rank.")
            padded_shapes = structure.map_structure(lambda s: s.shape, self.element_spec)
        flat_specs = structure.flatten(self.element_spec)
        shapes = _flatten_like(self.element_spec, padded_shapes)
        shapes = [_padded_shape(s) for s in shapes]
        if padding_values is None:
            values = [None] * len(flat_specs)
        elif not structure.is_structure(padding_values):
            values = [padding_values] * len(flat_specs)
        else:
            values = _flatten_like(self.element_spec, padding_values)
        paddings = []
        for value, spec in zip(values, flat_specs):
            if value is None:
                paddings.append(array.zeros([], spec.dtype))
            else:
                value = convert_to_tensor(value, dtype_hint=spec.dtype)
                if value.dtype != spec.dtype:
                    raise TypeError(f"Mismatched type between padding value ({value.dtype.name}) and input dataset's "
                                    f"component type ({spec.dtype.name}).")
                paddings.append(value)
        known = get_static_value(batch_size) if is_tensor(batch_size) else batch_size
        size = int(known) if drop_remainder and known is not None else None
        results = []
        for shape, spec in zip(shapes, flat_specs):
            static = get_static_value(shape)
            dims = [None if d < 0 else int(d) for d in static] if static is not None else [None] * shape.shape[0]
            results.append(TensorSpec([size] + dims, spec.dtype))
        spec = structure.pack(self.element_spec, results)
        variant = raw_ops.PaddedBatchDatasetV2(
            input_dataset=self._variant_tensor, batch_size=_int64(batch_size), padded_shapes=shapes,
            padding_values=paddings, drop_remainder=convert_to_tensor(drop_remainder),
            output_shapes=[s.shape for s in structure.flat_specs(spec)], name=name)
        return self._derive(variant, spec)

    def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype=dtypes.int64, name=None):
        """Consecutive elements as ragged batches."""
        del name
        from weir.ops import ragged

        def as_ragged(spec, value):
            if isinstance(spec, TensorSpec) and spec.shape.rank != 0 and not spec.shape.is_fully_defined():
                rank = spec.shape.rank
                if rank == 1:
                    return _RaggedRow.wrap(value)
                return ragged.RaggedTensor.from_tensor(value, ragged_rank=rank - 1, row_splits_dtype=row_splits_dtype)
            if isinstance(spec, ragged.RaggedTensorSpec) and spec.ragged_rank == 0:  # a row of a ragged tensor
                return _RaggedRow.wrap(value)
            return value

        spec = self.element_spec
        wrapped = self.map(lambda *element: structure.map_structure(
            as_ragged, spec, element if isinstance(spec, tuple) else element[0]))
        batches = wrapped.batch(batch_size, drop_remainder)

        def fix(leaf):
            if type(leaf).__name__ == "_RaggedRowSpec":
                return leaf.as_ragged()
            return leaf

        return Dataset(batches._variant_tensor, structure.map_structure(fix, batches.element_spec), self._options,
                       [batches])

    def unbatch(self, name=None):
        """The elements of batches, one by one."""
        spec = structure.unbatched(self.element_spec)
        source = self
        if not all(isinstance(s, TensorSpec) for s in structure.flatten(self.element_spec)):
            # Composite batches become vectors of variants first.
            batched = self.element_spec

            def encode(*element):
                return tuple(structure.to_batched_tensors(batched, element if isinstance(batched, tuple) else element[0]))

            source = self.map(encode)
        variant = raw_ops.UnbatchDataset(input_dataset=source._variant_tensor, name=name, **self._attributes(spec))
        return self._derive(variant, spec)

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        """Batches of other sizes."""
        sizes = convert_to_tensor(batch_size, dtype=dtypes.int64)
        known = batch_size if isinstance(batch_size, int) and drop_remainder else None
        spec = structure.map_structure(
            lambda s: TensorSpec(TensorShape([known]).concatenate(s.shape[1:]), s.dtype), self.element_spec)
        variant = raw_ops.RebatchDatasetV2(input_dataset=self._variant_tensor, batch_sizes=sizes,
                                           drop_remainder=convert_to_tensor(drop_remainder), name=name,
                                           **self._attributes(spec))
        return self._derive(variant, spec)

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        """Datasets of `size` consecutive elements, `shift` apart."""
        spec = structure.map_structure(DatasetSpec, self.element_spec)
        variant = raw_ops.WindowDataset(input_dataset=self._variant_tensor, size=_int64(size),
                                        shift=_int64(size if shift is None else shift), stride=_int64(stride),
                                        drop_remainder=convert_to_tensor(drop_remainder), name=name,
                                        **self._attributes(spec))
        return self._derive(variant, spec)

    # Functions of elements.

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None,
            use_unbounded_threadpool=False, name=None):
        """A function applied to each element, several at a time if asked."""
        del synchronous, use_unbounded_threadpool
        function = Function(map_func, self.element_spec)
        common = dict(input_dataset=self._variant_tensor, other_arguments=function.captures, f=function.value,
                      preserve_cardinality=True, name=name, **self._attributes(function.spec))
        if num_parallel_calls is None:
            variant = raw_ops.MapDataset(**common)
        else:
            variant = raw_ops.ParallelMapDatasetV2(num_parallel_calls=_int64(num_parallel_calls),
                                                   deterministic=_deterministic(deterministic), **common)
        result = self._derive(variant, function.spec)
        result._function = function
        return result

    def filter(self, predicate, name=None):
        """The elements for which a function gives True."""
        function = Function(predicate, self.element_spec)
        spec = function.spec
        if not isinstance(spec, TensorSpec) or spec.dtype != dtypes.bool or spec.shape.rank not in (0, None):
            raise ValueError(f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor but its return type "
                             f"is {spec}.")
        variant = raw_ops.FilterDataset(input_dataset=self._variant_tensor, other_arguments=function.captures,
                                        predicate=function.value, name=name, **self._attributes())
        return self._derive(variant)

    def flat_map(self, map_func, name=None):
        """The elements of the datasets that a function makes, one dataset after the other."""
        function = Function(map_func, self.element_spec)
        spec = _inner_spec(function.spec, "flat_map")
        variant = raw_ops.FlatMapDataset(input_dataset=self._variant_tensor, other_arguments=function.captures,
                                         f=function.value, name=name, **self._attributes(spec))
        return self._derive(variant, spec)

    def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None,
                   name=None):
        """The elements of the datasets that a function makes, `cycle_length` of them in turn."""
        function = Function(map_func, self.element_spec)
        spec = _inner_spec(function.spec, "interleave")
        cycle_length = AUTOTUNE if cycle_length is None else cycle_length
        block_length = 1 if block_length is None else block_length
        if num_parallel_calls is None:
            if isinstance(cycle_length, int) and cycle_length == AUTOTUNE:
                cycle_length = 2
            variant = raw_ops.InterleaveDataset(input_dataset=self._variant_tensor, other_arguments=function.captures,
                                                cycle_length=_int64(cycle_length), block_length=_int64(block_length),
                                                f=function.value, name=name, **self._attributes(spec))
        else:
            variant = raw_ops.ParallelInterleaveDatasetV4(
                input_dataset=self._variant_tensor, other_arguments=function.captures,
                cycle_length=_int64(cycle_length), block_length=_int64(block_length),
                buffer_output_elements=_int64(AUTOTUNE), prefetch_input_elements=_int64(AUTOTUNE),
                num_parallel_calls=_int64(num_parallel_calls), f=function.value,
                deterministic=_deterministic(deterministic), name=name, **self._attributes(spec))
        return self._derive(variant, spec)

    def take_while(self, predicate, name=None):
        """Elements until a function gives False."""
        function = Function(predicate, self.element_spec)
        variant = raw_ops.TakeWhileDataset(input_dataset=self._variant_tensor, other_arguments=function.captures,
                                           predicate=function.value, name=name, **self._attributes())
        return self._derive(variant)

    def scan(self, initial_state, scan_func, name=None):
        """A function of a state and an element that gives the next state and an output."""
        state = structure.normalize(initial_state)
        state_spec = structure.spec_of(state)
        for _ in range(4):
            function = Function(scan_func, (state_spec, self.element_spec))
            if not isinstance(function.spec, tuple) or len(function.spec) != 2:
                raise TypeError("Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the "
                                "output value but its return type is {}.".format(function.spec))
            wider = structure.most_general(state_spec, function.spec[0])
            if structure.flat_specs(wider) == structure.flat_specs(state_spec):
                break
            state_spec = wider
        spec = function.spec[1]
        variant = raw_ops.ScanDataset(input_dataset=self._variant_tensor,
                                      initial_state=structure.to_tensors(state_spec, state),
                                      other_arguments=function.captures, f=function.value, preserve_cardinality=True,
                                      name=name, **self._attributes(spec))
        return self._derive(variant, spec)

    def reduce(self, initial_state, reduce_func, name=None):
        """The last state of a function of a state and an element."""
        state = structure.normalize(initial_state)
        state_spec = structure.spec_of(state)
        for _ in range(4):
            function = Function(reduce_func, (state_spec, self.element_spec))
            spec = function.spec
            wider = structure.most_general(state_spec, spec)
            if structure.flat_specs(wider) == structure.flat_specs(state_spec):
                break
            state_spec = wider
        results = raw_ops.ReduceDataset(input_dataset=self._variant_tensor,
                                        initial_state=structure.to_tensors(state_spec, state),
                                        other_arguments=function.captures, f=function.value, name=name,
                                        **structure.types_and_shapes(state_spec))
        function_owners.release()
        results = [results] if is_tensor(results) else results
        return structure.from_tensors(state_spec, results)

    def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None, name=None):
        """Elements with equal keys, `window_size` at a time, reduced to datasets whose elements follow each other."""
        if (window_size is None) == (window_size_func is None):
            raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")
        if window_size is not None:
            window_size_func = lambda _: _int64(window_size)  # noqa: E731
        key = Function(lambda *e: math.cast(tf_convert(key_func)(*e), dtypes.int64), self.element_spec)
        size = Function(lambda k: math.cast(tf_convert(window_size_func)(k), dtypes.int64),
                        TensorSpec([], dtypes.int64))
        reduce = Function(reduce_func, (TensorSpec([], dtypes.int64), DatasetSpec(self.element_spec)))
        spec = _inner_spec(reduce.spec, "group_by_window")
        variant = raw_ops.GroupByWindowDataset(
            input_dataset=self._variant_tensor, key_func_other_arguments=key.captures,
            reduce_func_other_arguments=reduce.captures, window_size_func_other_arguments=size.captures,
            key_func=key.value, reduce_func=reduce.value, window_size_func=size.value, name=name,
            **self._attributes(spec))
        return self._derive(variant, spec)

    def bucket_by_sequence_length(self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                                  padding_values=None, pad_to_bucket_boundary=False, no_padding=False,
                                  drop_remainder=False, name=None):
        """Batches of elements of similar length."""
        del name
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                             f"{len(bucket_batch_sizes)} vs {len(bucket_boundaries)}")
        sizes = array.constant(bucket_batch_sizes, dtype=dtypes.int64)
        edges = array.constant(list(bucket_boundaries), dtype=dtypes.int32)

        def key(*element):
            length = math.cast(element_length_func(*element), dtypes.int32)
            return math.reduce_sum(math.cast(length >= edges, dtypes.int64))

        def batch(bucket, grouped):
            size = array.gather(sizes, bucket)
            if no_padding:
                return grouped.batch(size, drop_remainder)
            shapes = padded_shapes
            if pad_to_bucket_boundary:
                limits = array.concat([edges - 1, [np.iinfo(np.int32).max - 1]], 0)
                limit = math.cast(array.gather(limits, bucket), dtypes.int64)
                base = structure.map_structure(lambda s: s.shape, self.element_spec) if shapes is None else shapes
                shapes = structure.map_structure(
                    lambda s: array.stack([limit if d is None else _int64(d) for d in TensorShape(s).as_list()])
                    if TensorShape(s).rank else array.zeros([0], dtypes.int64), base)
            return grouped.padded_batch(size, shapes, padding_values, drop_remainder)

        return self.group_by_window(key, batch, window_size_func=lambda bucket: array.gather(sizes, bucket))

    def unique(self, name=None):
        """Each element once."""
        variant = raw_ops.UniqueDataset(input_dataset=self._variant_tensor, name=name, **self._attributes())
        return self._derive(variant)

    def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
        """Drops elements so that classes come in the wanted proportions; elements are (class, element) pairs."""
        del name
        from weir.data.resampling import rejection_resample
        return rejection_resample(self, class_func, target_dist, initial_dist, seed)

    def snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
        """Keeps the elements in files, for later runs of the program too."""
        reader = Function(reader_func or (lambda shards: shards.interleave(lambda d: d, cycle_length=2)),
                          DatasetSpec(DatasetSpec(self.element_spec)))
        shard = Function(shard_func or (lambda *_: array.constant(0, dtypes.int64)), self.element_spec)
        variant = raw_ops.SnapshotDatasetV2(
            input_dataset=self._variant_tensor, path=path, reader_func_other_args=reader.captures,
            shard_func_other_args=shard.captures, compression=compression, reader_func=reader.value,
            shard_func=shard.value, name=name, **self._attributes())
        return self._derive(variant)

    def sparse_batch(self, batch_size, row_shape, name=None):
        """Consecutive elements as sparse batches of rows of a given shape."""
        from weir.ops.sparse import SparseTensorSpec
        row = TensorShape(row_shape)
        spec = SparseTensorSpec(TensorShape([None]).concatenate(row), self.element_spec.dtype)
        variant = raw_ops.DenseToSparseBatchDataset(
            input_dataset=self._variant_tensor, batch_size=_int64(batch_size),
            row_shape=convert_to_tensor([-1 if d is None else d for d in row.as_list()], dtypes.int64), name=name,
            **self._attributes(spec))
        return self._derive(variant, spec)

    def ignore_errors(self, log_warning=False, name=None):
        """Leaves out elements whose making fails."""
        variant = raw_ops.IgnoreErrorsDataset(input_dataset=self._variant_tensor, log_warning=log_warning, name=name,
                                              **self._attributes())
        return self._derive(variant)

    def apply(self, transformation_func):
        """A function of datasets applied to this one."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError("`transformation_func` must return a `tf.data.Dataset` object. Got "
                            f"{type(result)}.")
        return result

    def with_options(self, options, name=None):
        """The dataset with options; those set later win."""
        del name
        return Dataset(self._variant_tensor, self.element_spec, self._options.merge(options), [self])

    def assert_cardinality(self, expected):
        """Checks the number of elements while they are read."""
        variant = raw_ops.AssertCardinalityDataset(input_dataset=self._variant_tensor, cardinality=_int64(expected),
                                                   **self._attributes())
        return self._derive(variant)


DatasetV2 = Dataset
name_results(Dataset)


# Keras knows datasets by these names.
Dataset.__name__ = Dataset.__qualname__ = "DatasetV2"
Dataset.__module__ = "tensorflow.python.data.ops.dataset_ops"


class DatasetSpec(TypeSpec):
    """The type of a dataset: an element of a dataset of datasets."""

    def __init__(self, element_spec, dataset_shape=()):
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    value_type = property(lambda self: Dataset)
    element_spec = property(lambda self: self._element_spec)

    def _with_tensor_ranks_only(self):
        return self  # no component says what the elements are

    def _serialize(self):
        return (self._element_spec, self._dataset_shape)

    @property
    def _component_specs(self):
        return TensorSpec(self._dataset_shape, dtypes.variant)

    def _to_components(self, value):
        function_owners.keep_for_good(value._variant_tensor)
        return value._variant_tensor

    def _from_components(self, components):
        return Dataset(components[0] if isinstance(components, (list, tuple)) else components, self._element_spec)

    @staticmethod
    def from_value(value):
        """The spec of a value."""
        return DatasetSpec(value.element_spec)

    @property
    def _flat_tensor_specs(self):
        return [TensorSpec(self._dataset_shape, dtypes.variant)]

    def _to_tensor_list(self, value):
        return [self._to_components(value)]

    def _to_batched_tensor_list(self, value):
        return [self._to_components(value)]

    def _from_compatible_tensor_list(self, tensors):
        return Dataset(tensors[0], self._element_spec)

    def _batch(self, batch_size):
        return DatasetSpec(self._element_spec, TensorShape([batch_size]).concatenate(self._dataset_shape))

    def _unbatch(self):
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])


class _RaggedRow(CompositeTensor):
    """A dense vector that is to become a row of a ragged batch."""

    def __init__(self, value):
        self._value = value

    @classmethod
    def wrap(cls, value):
        """A row."""
        return cls(value)

    @property
    def _type_spec(self):
        return _RaggedRowSpec(self._value.shape, self._value.dtype)


class _RaggedRowSpec(TypeSpec):
    def __init__(self, shape, dtype, batched=False):
        self._shape, self._dtype, self._batched = TensorShape(shape), dtype, batched

    value_type = property(lambda self: _RaggedRow)

    def _serialize(self):
        return (self._shape, self._dtype, self._batched)

    @property
    def _component_specs(self):
        return [TensorSpec(self._shape, self._dtype)]

    def _to_components(self, value):
        return [value._value]

    def _from_components(self, components):
        return _RaggedRow(components[0])

    def as_ragged(self):
        """The spec of the batches."""
        from weir.ops.ragged import RaggedTensorSpec
        return RaggedTensorSpec(self._shape, self._dtype, 1)

    def _batch(self, size):
        return _RaggedRowSpec(TensorShape([size]).concatenate(self._shape), self._dtype, True)

    @property
    def _flat_tensor_specs(self):
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value):
        return [raw_ops.RaggedTensorToVariant(rt_nested_splits=[], rt_dense_values=value._value, batched_input=False)]


def _flatten_like(spec, values):
    """The leaves of `values` at the leaves of `spec`; shapes may be lists."""
    if not structure.is_structure(spec):
        return [values]
    if isinstance(spec, dict):
        return [leaf for key in sorted(spec) for leaf in _flatten_like(spec[key], values[key])]
    values = list(values)
    if len(values) != len(spec):
        raise ValueError(f"The two structures don't have the same sequence length: {len(spec)} and {len(values)}")
    return [leaf for s, v in zip(spec, values) for leaf in _flatten_like(s, v)]


def _padded_shape(shape):
    if is_tensor(shape):
        return math.cast(shape, dtypes.int64)
    if shape is None:
        raise ValueError("padded_shapes must have a known rank")
    dims = TensorShape(shape) if not (isinstance(shape, (list, tuple)) and any(is_tensor(d) for d in shape)) else None
    if dims is None:
        return array.stack([_int64(-1 if d is None else d) for d in shape])
    return array.constant([-1 if d is None else d for d in dims.as_list()], dtype=dtypes.int64)


def _inner_spec(spec, what):
    if not isinstance(spec, DatasetSpec):
        raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {spec} from `{what}`.")
    return spec.element_spec


def _deterministic(value):
    return "default" if value is None else "true" if value else "false"


def _seeds(seed):
    from weir.ops import random
    first, second = random.get_seed(seed)
    first = 0 if first is None else first
    second = 0 if second is None else second
    if first == 0 and second == 0 and seed is not None:
        second = 2**31 - 1
    return _int64(first), _int64(second)


def experimental_from_list(elements, name=None):
    """A dataset of a Python list of elements."""
    del name
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    normal = [structure.normalize(e) for e in elements]
    return functools.reduce(lambda a, b: a.concatenate(b), [Dataset.from_tensors(e) for e in normal])

