"""Linear operators made of blocks of others: along the diagonal, below it, and Kronecker products."""

from functools import reduce
from operator import add, mul

import weir as tf
from weir.ops.linear_operator import LinearOperator
from weir.ops.linear_operator_spec import make_composite_tensor
from weir.ops.linear_operators_basic import maybe_adjoint
from weir.ops.linear_operators_composed import common_dtype, joined_names

__all__ = ["LinearOperatorBlockDiag", "LinearOperatorKronecker", "LinearOperatorBlockLowerTriangular"]


def _all(values):
    return True if all(list(values)) else None


@make_composite_tensor
class LinearOperatorBlockDiag(LinearOperator):
    """Operators as blocks along the diagonal."""

    _composite_tensor_fields = ("operators",)

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=True,
                 name=None):
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = common_dtype(self._operators)
        for hint, value, what in (("is_non_singular", is_non_singular, "non-singular"),
                                  ("is_self_adjoint", is_self_adjoint, "self-adjoint"),
                                  ("is_positive_definite", is_positive_definite, "positive definite")):
            if all(getattr(op, hint) for op in self._operators):
                if value is False:
                    raise ValueError(f"The direct sum of {what} operators is always {what}.")
                if hint == "is_non_singular":
                    is_non_singular = True
                elif hint == "is_self_adjoint":
                    is_self_adjoint = True
                else:
                    is_positive_definite = True
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square,
                         name=name or joined_names(self._operators, "_ds_"), parameters=parameters)

    operators = property(lambda self: self._operators)

    def _sum(self, sizes):
        sizes = list(sizes)
        return None if None in sizes else sum(sizes)

    def _shape(self):
        batch = self._operators[0].batch_shape
        for op in self._operators[1:]:
            batch = tf.broadcast_static_shape(batch, op.batch_shape)
        return batch.concatenate(tf.TensorShape([self._sum(op.range_dimension for op in self._operators),
                                                 self._sum(op.domain_dimension for op in self._operators)]))

    def _shape_tensor(self):
        batch = self._operators[0].batch_shape_tensor()
        for op in self._operators[1:]:
            batch = tf.broadcast_dynamic_shape(batch, op.batch_shape_tensor())
        return tf.concat([batch, [tf.add_n([op.range_dimension_tensor() for op in self._operators]),
                                  tf.add_n([op.domain_dimension_tensor() for op in self._operators])]], 0)

    def _sizes(self, adjoint):
        """The sizes of the parts of an argument."""
        known = [op.range_dimension if adjoint else op.domain_dimension for op in self._operators]
        if None not in known:
            return known
        return tf.stack([op.range_dimension_tensor() if adjoint else op.domain_dimension_tensor() for op in self._operators])

    def _parts(self, x, sizes):
        return tf.split(x, sizes, axis=-2, num=len(self._operators))

    def _each(self, method, x, adjoint, adjoint_arg, sizes):
        x = maybe_adjoint(x, adjoint_arg)
        results = [getattr(op, method)(part, adjoint=adjoint) for op, part in zip(self._operators, self._parts(x, sizes))]
        return tf.concat(_same_batch(results), axis=-2)

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        if isinstance(x, (list, tuple)):
            return [op.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg) for op, part in zip(self._operators, x)]
        return super().matmul(x, adjoint, adjoint_arg, name)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        if isinstance(rhs, (list, tuple)):
            return [op.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg) for op, part in zip(self._operators, rhs)]
        return super().solve(rhs, adjoint, adjoint_arg, name)

    def matvec(self, x, adjoint=False, name="matvec"):
        if isinstance(x, (list, tuple)):
            return [op.matvec(part, adjoint=adjoint) for op, part in zip(self._operators, x)]
        return super().matvec(x, adjoint, name)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._each("matmul", x, adjoint, adjoint_arg, self._sizes(adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._each("solve", rhs, adjoint, adjoint_arg, self._sizes(not adjoint))

    def _determinant(self):
        return reduce(mul, (op.determinant() for op in self._operators))

    def _log_abs_determinant(self):
        return reduce(add, (op.log_abs_determinant() for op in self._operators))

    def _trace(self):
        return reduce(add, (op.trace() for op in self._operators))

    def _diag_part(self):
        if not all(op.is_square for op in self._operators):
            return super()._diag_part()
        parts = [tf.expand_dims(op.diag_part(), -1) for op in self._operators]
        return tf.squeeze(tf.concat(_same_batch(parts), axis=-2), -1)

    def _to_dense(self):
        rows, before = [], 0
        total = self.domain_dimension if self.domain_dimension is not None else self.domain_dimension_tensor()
        for dense in _same_batch([op.to_dense() for op in self._operators]):
            width = dense.shape[-1] if dense.shape[-1] is not None else tf.shape(dense)[-1]
            pads = [[0, 0]] * (dense.shape.rank - 1) + [[before, total - before - width]]
            rows.append(tf.pad(dense, pads))
            before = before + width
        return tf.concat(rows, axis=-2)

    def _eigvals(self):
        values = [tf.expand_dims(op.eigvals(), -1) for op in self._operators]
        return tf.squeeze(tf.concat(_same_batch(values), axis=-2), -1)

    def _assert_non_singular(self):
        return tf.group(*[op.assert_non_singular() for op in self._operators])

    def _assert_positive_definite(self):
        return tf.group(*[op.assert_positive_definite() for op in self._operators])

    def _assert_self_adjoint(self):
        return tf.group(*[op.assert_self_adjoint() for op in self._operators])

    def _same(self, operators, **hints):
        hints = {"is_non_singular": self.is_non_singular, "is_self_adjoint": self.is_self_adjoint,
                 "is_positive_definite": self.is_positive_definite, "is_square": True, **hints}
        return LinearOperatorBlockDiag(operators, **hints)

    def _adjoint(self):
        return self._same([op.adjoint() for op in self._operators])

    def _inverse(self):
        return self._same([op.inverse() for op in self._operators])

    def _cholesky(self):
        return self._same([op.cholesky() for op in self._operators], is_non_singular=True, is_self_adjoint=None,
                          is_positive_definite=None)


def _same_batch(tensors):
    """Tensors with one batch shape."""
    if all(t.shape.is_fully_defined() for t in tensors):
        batch = tensors[0].shape[:-2]
        for t in tensors[1:]:
            batch = tf.broadcast_static_shape(batch, t.shape[:-2])
        return [t if t.shape[:-2] == batch else tf.broadcast_to(t, batch.concatenate(t.shape[-2:])) for t in tensors]
    batch = tf.shape(tensors[0])[:-2]
    for t in tensors[1:]:
        batch = tf.broadcast_dynamic_shape(batch, tf.shape(t)[:-2])
    out = []
    for t in tensors:
        made = tf.broadcast_to(t, tf.concat([batch, tf.shape(t)[-2:]], 0))
        made.set_shape(tf.TensorShape([None] * (t.shape.rank - 2)).concatenate(t.shape[-2:]) if t.shape.rank is not None
                       else None)
        out.append(made)
    return out


@make_composite_tensor
class LinearOperatorBlockLowerTriangular(LinearOperator):
    """Rows of operators: row i has i + 1 blocks, the last of which is square."""

    _composite_tensor_fields = ("operators",)

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorBlockLowerTriangular"):
        parameters = dict(locals())
        self._operators = [list(row) for row in operators]
        for i, row in enumerate(self._operators):
            if len(row) != i + 1:
                raise ValueError(f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: {len(row)} blocks.")
            if row[-1].is_square is False:
                raise ValueError(f"Matrices on the diagonal must be square. Received shape {row[-1].shape} at index "
                                 f"{(i, i)}.")
        self._diagonal = [row[-1] for row in self._operators]
        dtype = common_dtype([op for row in self._operators for op in row])
        if is_square is False:
            raise ValueError("`LinearOperatorBlockLowerTriangular` must be square.")
        if all(op.is_non_singular for op in self._diagonal):
            if is_non_singular is False:
                raise ValueError("A blockwise lower-triangular operator with non-singular operators on the main diagonal is "
                                 "always non-singular.")
            is_non_singular = True
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    operators = property(lambda self: self._operators)

    def _shape(self):
        batch = tf.TensorShape([])
        for row in self._operators:
            for op in row:
                batch = tf.broadcast_static_shape(batch, op.batch_shape)
        sizes = [op.domain_dimension for op in self._diagonal]
        size = None if None in sizes else sum(sizes)
        return batch.concatenate(tf.TensorShape([size, size]))

    def _shape_tensor(self):
        batch = tf.constant([], tf.int32)
        for row in self._operators:
            for op in row:
                batch = tf.broadcast_dynamic_shape(batch, op.batch_shape_tensor())
        size = tf.add_n([op.domain_dimension_tensor() for op in self._diagonal])
        return tf.concat([batch, [size, size]], 0)

    def _split(self, x):
        sizes = [op.domain_dimension for op in self._diagonal]
        if None in sizes:
            sizes = tf.stack([op.domain_dimension_tensor() for op in self._diagonal])
        return tf.split(x, sizes, axis=-2, num=len(self._diagonal))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        parts, count = self._split(maybe_adjoint(x, adjoint_arg)), len(self._operators)
        results = []
        for i in range(count):
            terms = [self._operators[j][i].matmul(parts[j], adjoint=True) for j in range(i, count)] if adjoint else \
                    [op.matmul(part) for op, part in zip(self._operators[i], parts)]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            results.append(total)
        return tf.concat(_same_batch(results), axis=-2)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        parts, count = self._split(maybe_adjoint(rhs, adjoint_arg)), len(self._operators)
        found = [None] * count
        for i in reversed(range(count)) if adjoint else range(count):
            total = parts[i]
            for j in range(i + 1, count) if adjoint else range(i):
                block = self._operators[j][i] if adjoint else self._operators[i][j]
                total = total - block.matmul(found[j], adjoint=adjoint)
            found[i] = self._diagonal[i].solve(total, adjoint=adjoint)
        return tf.concat(_same_batch(found), axis=-2)

    def _determinant(self):
        return reduce(mul, (op.determinant() for op in self._diagonal))

    def _log_abs_determinant(self):
        return reduce(add, (op.log_abs_determinant() for op in self._diagonal))

    def _trace(self):
        return reduce(add, (op.trace() for op in self._diagonal))

    def _diag_part(self):
        parts = [tf.expand_dims(op.diag_part(), -1) for op in self._diagonal]
        return tf.squeeze(tf.concat(_same_batch(parts), axis=-2), -1)

    def _inverse(self):
        """Row i of the inverse: -A[i,i]^-1 sum_k A[i,k] X[k,j] before its diagonal, the inverse of A[i,i] on it."""
        from weir.ops.linear_operators_basic import LinearOperatorFullMatrix
        rows = []
        for i, row in enumerate(self._operators):
            own = row[-1].inverse()
            blocks = []
            for j in range(i):
                total = row[j].matmul(rows[j][j].to_dense())
                for k in range(j + 1, i):
                    total = total + row[k].matmul(rows[k][j].to_dense())
                blocks.append(LinearOperatorFullMatrix(-own.matmul(total)))
            rows.append([*blocks, own])
        return LinearOperatorBlockLowerTriangular(rows, is_non_singular=self.is_non_singular,
                                                  is_self_adjoint=self.is_self_adjoint,
                                                  is_positive_definite=self.is_positive_definite, is_square=True)


@make_composite_tensor
class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators."""

    _composite_tensor_fields = ("operators",)

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = common_dtype(self._operators)
        if all(op.is_square for op in self._operators):
            if is_square is False:
                raise ValueError("The Kronecker product of square operators is always square.")
            is_square = True
        for hint, value, what in (("is_non_singular", is_non_singular, "non-singular"),
                                  ("is_self_adjoint", is_self_adjoint, "self-adjoint"),
                                  ("is_positive_definite", is_positive_definite, "positive-definite")):
            if all(getattr(op, hint) for op in self._operators) and value is False:
                raise ValueError(f"The Kronecker product of {what} operators is always {what}.")
        is_non_singular = is_non_singular or _all(op.is_non_singular for op in self._operators)
        is_self_adjoint = is_self_adjoint or _all(op.is_self_adjoint for op in self._operators)
        is_positive_definite = is_positive_definite or _all(op.is_positive_definite for op in self._operators)
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square,
                         name=name or joined_names(self._operators, "_x_"), parameters=parameters)

    operators = property(lambda self: self._operators)

    @staticmethod
    def _product(sizes):
        result = 1
        for size in sizes:
            if size is None:
                return None
            result = result * size
        return result

    def _shape(self):
        batch = self._operators[0].batch_shape
        for op in self._operators[1:]:
            batch = tf.broadcast_static_shape(batch, op.batch_shape)
        return batch.concatenate(tf.TensorShape([self._product(op.range_dimension for op in self._operators),
                                                 self._product(op.domain_dimension for op in self._operators)]))

    def _shape_tensor(self):
        batch = self._operators[0].batch_shape_tensor()
        for op in self._operators[1:]:
            batch = tf.broadcast_dynamic_shape(batch, op.batch_shape_tensor())
        return tf.concat([batch, [self._product(op.range_dimension_tensor() for op in self._operators),
                                  self._product(op.domain_dimension_tensor() for op in self._operators)]], 0)

    def _walk(self, x, method, adjoint, adjoint_arg):
        """Applies each operator along its own dimension of x, seen as [..., n1, n2, ..., columns]."""
        x = maybe_adjoint(x, adjoint_arg)
        solving = method == "solve"
        sizes = [(op.range_dimension_tensor() if adjoint != solving else op.domain_dimension_tensor())
                 for op in self._operators]
        batch = tf.broadcast_dynamic_shape(self.batch_shape_tensor(), tf.shape(x)[:-2])
        columns = tf.shape(x)[-1]
        x = tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0))
        for i, op in enumerate(self._operators):
            before = self._product(sizes[:i]) if i else 1
            after = self._product(sizes[i + 1:] + [columns])
            x = tf.reshape(x, tf.concat([batch, [before, sizes[i], after]], 0))
            x = _over_extra(op, method, x, adjoint)
            sizes[i] = tf.shape(x)[-2]
        return tf.reshape(x, tf.concat([batch, [self._product(sizes), columns]], 0))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._fix(self._walk(x, "matmul", adjoint, adjoint_arg), adjoint, x, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._fix(self._walk(rhs, "solve", adjoint, adjoint_arg), not adjoint, rhs, adjoint_arg)

    def _fix(self, result, adjoint, x, adjoint_arg):
        rows = self.domain_dimension if adjoint else self.range_dimension
        columns = x.shape[-2] if adjoint_arg else x.shape[-1]
        if x.shape.rank is not None and self.shape.rank is not None:
            batch = tf.broadcast_static_shape(self.batch_shape, x.shape[:-2])
            result.set_shape(batch.concatenate(tf.TensorShape([rows, columns])))
        return result

    def _determinant(self):
        total = self.domain_dimension_tensor()
        result = None
        for op in self._operators:
            power = tf.cast(total / op.domain_dimension_tensor(), self.dtype)
            term = op.determinant() ** power
            result = term if result is None else result * term
        return result

    def _log_abs_determinant(self):
        total = self.domain_dimension_tensor()
        result = None
        for op in self._operators:
            term = op.log_abs_determinant() * tf.cast(total / op.domain_dimension_tensor(), self.dtype)
            result = term if result is None else result + term
        return result

    def _trace(self):
        result = self._operators[0].trace()
        for op in self._operators[1:]:
            result = result * op.trace()
        return result

    def _outer(self, values):
        result = values[0]
        for value in values[1:]:
            result = tf.expand_dims(result, -1) * tf.expand_dims(value, -2)
            shape = tf.shape(result)
            result = tf.reshape(result, tf.concat([shape[:-2], [shape[-1] * shape[-2]]], 0))
        return result

    def _diag_part(self):
        found = self._outer([op.diag_part() for op in self._operators])
        if self.shape.rank is not None:
            found.set_shape(self.batch_shape.concatenate(tf.TensorShape([self.domain_dimension])))
        return found

    def _eigvals(self):
        return self._outer([op.eigvals() for op in self._operators])

    def _to_dense(self):
        result = self._operators[0].to_dense()
        for op in self._operators[1:]:
            other = op.to_dense()
            product = result[..., :, None, :, None] * other[..., None, :, None, :]
            shape = tf.shape(product)
            result = tf.reshape(product, tf.concat([shape[:-4], [shape[-4] * shape[-3], shape[-2] * shape[-1]]], 0))
        result.set_shape(self.shape)
        return result

    def _assert_non_singular(self):
        if all(op.is_square for op in self._operators):
            return tf.group(*[op.assert_non_singular() for op in self._operators])
        raise ValueError("All Kronecker factors must be square for the product to be invertible.")

    def _assert_self_adjoint(self):
        if all(op.is_square for op in self._operators):
            return tf.group(*[op.assert_self_adjoint() for op in self._operators])
        raise ValueError("All Kronecker factors must be square for the product to be invertible.")

    def _same(self, operators, **hints):
        return LinearOperatorKronecker(operators, **{
            "is_non_singular": self.is_non_singular, "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite, "is_square": self._is_square, **hints})

    def _adjoint(self):
        return self._same([op.adjoint() for op in self._operators])

    def _inverse(self):
        return self._same([op.inverse() for op in self._operators])

    def _cholesky(self):
        return self._same([op.cholesky() for op in self._operators], is_non_singular=True, is_self_adjoint=None,
                          is_positive_definite=None, is_square=True)


def _over_extra(op, method, x, adjoint):
    """op applied to [batch, extra, n, m]: the extra dimension becomes columns and comes back."""
    rank = tf.rank(x)
    order = tf.concat([tf.range(rank - 3), [rank - 2, rank - 3, rank - 1]], 0)
    moved = tf.transpose(x, order)
    shape = tf.shape(moved)
    flat = tf.reshape(moved, tf.concat([shape[:-2], [shape[-2] * shape[-1]]], 0))
    done = getattr(op, method)(flat, adjoint=adjoint)
    back = tf.reshape(done, tf.concat([tf.shape(done)[:-1], shape[-2:]], 0))
    return tf.transpose(back, order)


_MODULES = {"BlockDiag": "block_diag", "Kronecker": "kronecker", "BlockLowerTriangular": "block_lower_triangular"}
for _name in __all__:
    globals()[_name].__module__ = "tensorflow.python.ops.linalg.linear_operator_" + _MODULES[_name[len("LinearOperator"):]]
