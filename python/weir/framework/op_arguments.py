"""How tf.raw_ops names the arguments of ops whose OpDef has other names or another order: (public name, OpDef's).
Written by python/tools/make_op_arguments.
"""

ARGUMENTS = {
    "All": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Any": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "EuclideanNorm": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "ExpandDims": [("input", "input"), ("axis", "dim")],
    "Max": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Mean": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Min": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Prod": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Select": [("condition", "condition"), ("x", "t"), ("y", "e")],
    "Split": [("axis", "split_dim"), ("value", "value"), ("num_split", "num_split")],
    "SplitV": [("value", "value"), ("size_splits", "size_splits"), ("axis", "split_dim"), ("num_split", "num_split")],
    "Squeeze": [("input", "input"), ("axis", "squeeze_dims")],
    "Sum": [("input", "input"), ("axis", "reduction_indices"), ("keep_dims", "keep_dims")],
    "Where": [("condition", "input")],
}
