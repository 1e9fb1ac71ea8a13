"""Products of two linear operators: the cases that have a closed form, else a composition."""

import weir as tf
from weir.ops.linear_operators_basic import (LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorLowerTriangular,
                                             LinearOperatorScaledIdentity, LinearOperatorZeros)

__all__ = ["matmul", "product_hints"]


def product_hints(a, b):
    """What is known of a b where the two commute, as diagonal matrices do."""
    both = lambda x, y: True if x and y else (False if x is False or y is False else None)  # noqa: E731
    return {"is_non_singular": both(a.is_non_singular, b.is_non_singular),
            "is_self_adjoint": True if a.is_self_adjoint and b.is_self_adjoint else None,
            "is_positive_definite": True if a.is_positive_definite and b.is_positive_definite else None,
            "is_square": both(a.is_square, b.is_square)}


def _scaled(op, multiplier, hints):
    return LinearOperatorScaledIdentity(op.domain_dimension_tensor(), multiplier, **hints)


def matmul(a, b):
    """The operator a b."""
    from weir.ops.linear_operators_composed import LinearOperatorComposition
    from weir.ops.linear_operators_structured import LinearOperatorCirculant
    zeros = isinstance(a, LinearOperatorZeros) or isinstance(b, LinearOperatorZeros)
    if isinstance(a, LinearOperatorIdentity) and not zeros:
        return b
    if isinstance(b, LinearOperatorIdentity) and not zeros:
        return a
    if zeros:
        if not a.is_square or not b.is_square:
            raise ValueError("Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported")
        return a if isinstance(a, LinearOperatorZeros) else b
    scaled = (isinstance(a, LinearOperatorScaledIdentity), isinstance(b, LinearOperatorScaledIdentity))
    diagonal = (isinstance(a, LinearOperatorDiag), isinstance(b, LinearOperatorDiag))
    hints = product_hints(a, b)
    if all(scaled):
        return _scaled(a, a.multiplier * b.multiplier, hints)
    if all(diagonal):
        return LinearOperatorDiag(a.diag * b.diag, **hints)
    if scaled[0] and diagonal[1]:
        return LinearOperatorDiag(tf.expand_dims(a.multiplier, -1) * b.diag, **hints)
    if diagonal[0] and scaled[1]:
        return LinearOperatorDiag(tf.expand_dims(b.multiplier, -1) * a.diag, **hints)
    if diagonal[0] and isinstance(b, LinearOperatorLowerTriangular):
        return LinearOperatorLowerTriangular(tf.expand_dims(a.diag, -1) * b.to_dense(),
                                             is_non_singular=hints["is_non_singular"], is_square=True)
    if isinstance(a, LinearOperatorLowerTriangular) and diagonal[1]:
        return LinearOperatorLowerTriangular(a.to_dense() * tf.expand_dims(b.diag, -2),
                                             is_non_singular=hints["is_non_singular"], is_square=True)
    if isinstance(a, LinearOperatorCirculant) and isinstance(b, LinearOperatorCirculant):
        return LinearOperatorCirculant(a.spectrum * b.spectrum, input_output_dtype=a.dtype, **hints)
    positive = True if a.is_self_adjoint and b is a and a.is_non_singular else None
    return LinearOperatorComposition([a, b], is_non_singular=hints["is_non_singular"],
                                     is_self_adjoint=True if positive else None, is_positive_definite=positive,
                                     is_square=True if a.is_square and b.is_square else None)
