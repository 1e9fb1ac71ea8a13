"""tf.autodiff.ForwardAccumulator: Jacobian-vector products, taken as the gradient of a gradient.

For y = f(x) the vector-Jacobian product g(u) = u J is linear in u, so that the product J v is the derivative of
g(u) . v by u.
"""

from weir import _core
from weir.eager.tape import GradientTape, UnconnectedGradients
from weir.framework.conversion import convert_to_tensor
from weir.framework.raw_ops import raw_ops

__all__ = ["ForwardAccumulator"]


class ForwardAccumulator:
    """Computes Jacobian-vector products of what runs inside `with ForwardAccumulator(primals, tangents) as acc:`."""

    def __init__(self, primals, tangents):
        from weir import nest
        self._primals = nest.flatten(primals)
        self._tangents = [convert_to_tensor(t) for t in nest.flatten(tangents)]
        if len(self._primals) != len(self._tangents):
            raise ValueError("Each primal needs a tangent")
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)

    def __enter__(self):
        self._tape.__enter__()
        for primal in self._primals:
            self._tape.watch(primal)
        return self

    def __exit__(self, *error):
        self._tape.__exit__(*error)

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        """The product of the Jacobian of `primals` (results) with the tangents."""
        from weir import nest
        recording = self._tape._recording
        if recording:
            self._tape._pop()
        try:
            return nest.map_structure(lambda target: self._one(target, unconnected_gradients), primals)
        finally:
            if recording:
                self._tape._push()

    def _one(self, target, unconnected):
        target = convert_to_tensor(target)
        zero = UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
        weights = raw_ops.ZerosLike(x=target)
        with GradientTape(watch_accessed_variables=False) as outer:
            outer.watch(weights)
            backward = self._tape.gradient(target, self._primals, weights)
        pairs = [(b, t) for b, t in zip(backward, self._tangents) if b is not None]
        if not pairs:
            return raw_ops.ZerosLike(x=target) if zero else None
        result = outer.gradient([b for b, _ in pairs], weights, [t for _, t in pairs])
        return raw_ops.ZerosLike(x=target) if result is None else result
