"""Variables, optimizers, scatters into variables."""

import numpy as np

from .arrays import places, strided
from .draw import Var, cases

DENSE = """AdaMax Adadelta Adagrad AdagradDA AdagradV2 Adam AddSign CenteredRMSProp Ftrl FtrlV2 GradientDescent Momentum PowerSign ProximalAdagrad
ProximalGradientDescent RMSProp""".split()
SPARSE = "Adadelta Adagrad AdagradDA AdagradV2 CenteredRMSProp Ftrl FtrlV2 Momentum ProximalAdagrad ProximalGradientDescent RMSProp".split()
SLOTS = ("var", "accum", "accum_update", "m", "v", "vhat", "linear", "mg", "ms", "mom", "gradient_accumulator", "gradient_squared_accumulator")


@cases(*[f"{r}Apply{x}" for r in ("", "Resource") for x in DENSE], *[f"{r}SparseApply{x}" for r in ("", "Resource") for x in SPARSE], "ResourceApplyAdamWithAmsgrad", "ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum")
def optimizer(d):
    names = [arg.name for arg in d.op_def.input_arg]
    sparse = "indices" in names
    shape = d.shape(1, 3, zero=0) if sparse else d.shape()
    rows = d.random.randint(0, shape[0], d.int(0, 4)) if sparse else None
    given = {}
    for name in names:
        if name in SLOTS:
            given[name] = Var(d.T(shape, -1 if name in ("var", "linear", "m", "mom", "mg") else 0.1, 1))
        elif name in ("grad", "delta"):
            given[name] = d.T((len(rows), *shape[1:]) if sparse else shape, -2, 2)
        elif name == "indices":
            given[name] = d.index(rows)
        elif name == "global_step":
            given[name] = d.i64(d.int(1, 9))
        elif name == "lr_power":
            given[name] = d.T((), -0.5, -0.5) if d.chance(0.7) else d.T((), -1, 0)
        else:
            given[name] = d.T((), 0.01, 0.9)
    if "CenteredRMSProp" in d.op:
        given["mg"] = Var(d.T(shape, -0.1, 0.1))
        given["ms"] = Var(d.T(shape, 0.5, 1))
    if d.op == "ApplyProximalGradientDescent":
        given["delta"] = d.T(shape, -2, 2)
    return given


@cases("AssignAdd", "AssignSub", "Assign", "AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp")
def assign(d):
    shape = d.shape()
    attr = "T" if "Variable" not in d.op else "dtype"
    return {"ref" if attr == "T" else "resource": Var(d.T(shape, attr=attr)), "value": d.T(shape, attr=attr)}


@cases("CountUpTo", "ResourceCountUpTo")
def count(d):
    return {"ref" if d.op == "CountUpTo" else "resource": Var(d.T((), 0, 5)), "limit": d.int(1, 7)}


SCATTERS = "Add Div Max Min Mul Sub Update".split()


@cases(*[f"Scatter{x}" for x in SCATTERS], *[f"ResourceScatter{x}" for x in SCATTERS])
def scatter(d):
    resource = d.op.startswith("Resource")
    attr = "dtype" if resource else "T"
    shape, at = d.shape(1, 3, zero=0), d.shape(0, 2)
    rows = d.random.randint(0, shape[0], at)
    if d.op.endswith("Update"):
        rows = d.random.permutation(shape[0])[: d.int(0, shape[0])]
    updates = d.T(np.shape(rows) + shape[1:] if d.chance(0.8) else (), attr=attr)
    if d.op.endswith("Div") and updates.dtype.kind in "iu":
        updates = np.where(updates == 0, np.ones((), updates.dtype), updates)
    return {"resource" if resource else "ref": Var(d.T(shape, attr=attr)), "indices": d.index(rows), "updates": updates}


ND = "Add Max Min Sub Update".split()


@cases(*[f"ScatterNd{x}" for x in ND], *[f"ResourceScatterNd{x}" for x in ND])
def scatter_nd(d):
    shape = d.shape(1, 4, zero=0)
    at, updates = places(d, shape, unique=d.op.endswith("Update"))
    return dict(ref=Var(d.T(shape)), indices=d.index(at), updates=d.T(updates))


@cases("StridedSliceAssign", "ResourceStridedSliceAssign")
def strided_assign(d):
    shape = d.shape(0, 4)
    begin, end, strides, masks, result = strided(d, shape)
    return dict(ref=Var(d.T(shape)), begin=d.index(begin, "Index"), end=d.index(end, "Index"), strides=d.index(strides, "Index"), value=d.T(result), **masks)


@cases("ResourceGather")
def resource_gather(d):
    shape = d.shape(1, 4, zero=0)
    batch = d.int(0, len(shape) - 1) if d.chance(0.3) else 0
    return dict(resource=Var(d.T(shape, attr="dtype")), indices=d.index(d.random.randint(0, shape[batch], shape[:batch] + d.shape(0, 2))), batch_dims=batch, dtype=d.t("dtype"))


@cases("ResourceGatherNd")
def resource_gather_nd(d):
    shape = d.shape(1, 4, zero=0)
    at, _ = places(d, shape)
    return dict(resource=Var(d.T(shape, attr="dtype")), indices=d.index(at), dtype=d.t("dtype"))


@cases("VariableShape", "VarIsInitializedOp", "ReadVariableOp", "IsVariableInitialized")
def about(d):
    name = d.op_def.input_arg[0].name
    given = {name: Var(d.of(d.choice(["float32", "int64"]), d.shape()))}
    if d.op == "ReadVariableOp":
        given["dtype"] = d.choice(["float32"])
        given[name] = Var(d.of("float32", d.shape()))
    return given
