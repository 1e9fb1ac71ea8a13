"""Connectionist temporal classification: losses and decoders."""

from weir.framework import convert_to_tensor, raw_ops
from weir.ops import array, dtypes, math
from weir.ops.dtypes import cast
from weir.ops.sparse import SparseTensor

__all__ = ["collapse_repeated", "ctc_beam_search_decoder", "ctc_greedy_decoder", "ctc_loss", "ctc_unique_labels"]

# What TensorFlow's loss is where no alignment exists, beyond the emitted labels: -log of the smallest double.
_IMPOSSIBLE = 709.0


def _blank_last(logits, blank):
    """Logits whose blank class is the last one, as the op wants it."""
    return array.concat([logits[..., :blank], logits[..., blank + 1:], logits[..., blank:blank + 1]], -1)


def ctc_loss(labels, logits, label_length=None, logit_length=None, logits_time_major=True, unique=None, blank_index=None,
             name=None):
    """The loss of label sequences whose places in time are not known: -log of the sum over all alignments.

    `labels` is a SparseTensor, or dense [batch, labels] with `label_length`; `logits` are [time, batch, classes], or
    [batch, time, classes] with `logits_time_major=False`.
    """
    del unique  # a hint for accelerators
    logits = convert_to_tensor(logits, name="logits")
    original = logits.dtype
    if original in (dtypes.float16, dtypes.bfloat16):
        logits = cast(logits, dtypes.float32)
    if not logits_time_major:
        logits = array.transpose(logits, [1, 0, 2])
    classes = logits.shape[2] if logits.shape[2] is not None else array.shape(logits)[2]
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
        indices, values, short = labels.indices, cast(labels.values, dtypes.int32), None
    else:
        blank_index = 0 if blank_index is None else blank_index
        labels = cast(convert_to_tensor(labels, name="labels"), dtypes.int32)
        label_length = cast(label_length, dtypes.int32)
        present = array.sequence_mask(label_length, array.shape(labels)[1])
        indices, values = array.where(present), array.boolean_mask(labels, present)
        # An alignment needs a step for each label and a blank between equal neighbours.
        repeated = raw_ops.LogicalAnd(x=math.equal(labels[:, 1:], labels[:, :-1]), y=present[:, 1:])
        needed = label_length + math.reduce_sum(cast(repeated, dtypes.int32), 1)
        short = raw_ops.Greater(x=needed, y=cast(logit_length, dtypes.int32))
    blank_index = blank_index + classes if blank_index < 0 else blank_index
    values = raw_ops.SelectV2(condition=raw_ops.Greater(x=values, y=blank_index), t=values - 1, e=values)
    loss = raw_ops.CTCLoss(inputs=_blank_last(logits, blank_index), labels_indices=cast(indices, dtypes.int64),
                           labels_values=values, sequence_length=cast(logit_length, dtypes.int32),
                           ignore_longer_outputs_than_inputs=short is not None, name=name)[0]
    if short is not None:
        loss = raw_ops.SelectV2(condition=short, t=array.fill(array.shape(loss), cast(_IMPOSSIBLE, loss.dtype)), e=loss)
        if logits.shape[1] is not None:
            loss.set_shape([logits.shape[1]])
    return cast(loss, original)


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The labels of the best class of each step, and the sum of the negative logits: ([SparseTensor], scores)."""
    indices, values, shape, scores = raw_ops.CTCGreedyDecoder(
        inputs=inputs, sequence_length=sequence_length, merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index)
    return [SparseTensor(indices, values, shape)], scores


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1):
    """The most probable label sequences by beam search: (list of SparseTensors, log probabilities)."""
    indices, values, shapes, scores = raw_ops.CTCBeamSearchDecoder(
        inputs=inputs, sequence_length=sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=False)
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes)], scores


def collapse_repeated(labels, seq_length, name=None):
    """Labels with runs of one value made one: (labels, lengths)."""
    labels = convert_to_tensor(labels, name="labels")
    seq_length = convert_to_tensor(seq_length, name="seq_length")
    first = array.ones_like(labels[:, :1], dtype=dtypes.bool)
    changed = array.concat([first, math.not_equal(labels[:, 1:], labels[:, :-1])], 1)
    kept = raw_ops.LogicalAnd(x=changed, y=array.sequence_mask(seq_length, array.shape(labels)[1]))
    lengths = math.reduce_sum(cast(kept, seq_length.dtype), 1)
    places = array.where(array.sequence_mask(lengths, math.reduce_max(lengths)))
    shape = array.stack([array.shape(labels, dtypes.int64)[0], cast(math.reduce_max(lengths), dtypes.int64)])
    return raw_ops.ScatterNd(indices=places, updates=array.boolean_mask(labels, kept), shape=shape, name=name), lengths


def ctc_unique_labels(labels, name=None):
    """The unique labels of each row, padded with zeros, and for each label its place among them."""
    from weir.ops.control_flow import map_fn
    from weir.framework import TensorSpec
    del name
    labels = convert_to_tensor(labels, name="labels")

    def of_row(row):
        found = raw_ops.Unique(x=row, out_idx=dtypes.int32)
        missing = array.shape(row)[0] - array.shape(found.y)[0]
        return [array.pad(found.y, [[0, missing]]), found.idx]
    return map_fn(of_row, labels, fn_output_signature=[TensorSpec(None, labels.dtype), TensorSpec(None, dtypes.int32)])
