"""Single operations of TensorFlow's graphs in PyTorch, for ops.py: a process of its own, with an interpreter of its own.

Reads lines of JSON: {"name", "op", "inputs": [{"shape", "below"} or {"value"}], "attrs"} prepares an operation and
answers {"ok": whether PyTorch has it}; {"name", "seconds"} answers {"ms": the least time of a call}. Images lie in memory
as TensorFlow's do (channels last).
"""
import json
import sys

import torch
import torch.nn.functional as F

from timing import best

backward = torch.ops.aten.convolution_backward


def image(x):
    """NHWC as PyTorch sees it: the same memory under other names of its dimensions."""
    return x.permute(0, 3, 1, 2)


def kernel(x):
    return x.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def same_padding(size, window, stride):
    """What is added before and after, as TensorFlow does for SAME."""
    total = max(0, ((size + stride - 1) // stride - 1) * stride + window - size)
    return total // 2, total - total // 2


def padded(x, window, stride, value=0.0):
    """PyTorch pads both sides alike; what is more on one side is a tensor of its own. Gives the tensor and the padding."""
    before, after = same_padding(x.shape[2], window, stride)
    if before == after:
        return x, before
    return F.pad(x, (before, after, before, after), value=value).contiguous(memory_format=torch.channels_last), 0


def convolution(op, inputs, attrs):
    stride = attrs["strides"][1]
    if op == "Conv2D":
        x, w = image(inputs[0]), kernel(inputs[1])
        x, pad = padded(x, w.shape[2], stride)
        return lambda: F.conv2d(x, w, stride=stride, padding=pad)
    if op == "DepthwiseConv2dNative":
        x = image(inputs[0])
        w = inputs[1].permute(2, 3, 0, 1).contiguous(memory_format=torch.channels_last)
        x, pad = padded(x, w.shape[2], stride)
        return lambda: F.conv2d(x, w, stride=stride, padding=pad, groups=x.shape[1])
    of_input = op == "Conv2DBackpropInput"
    x = torch.zeros(inputs[0].tolist()) if of_input else inputs[0]
    w = inputs[1] if of_input else torch.zeros(inputs[1].tolist())
    x, w, grad = image(x), kernel(w), image(inputs[2])
    x, pad = padded(x, w.shape[2], stride)
    return lambda: backward(grad, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1,
                            [of_input, not of_input, False])


def pool(op, inputs, attrs):
    window, stride = attrs["ksize"][1], attrs["strides"][1]
    if op == "MaxPool":
        x, pad = padded(image(inputs[0]), window, stride, float("-inf"))
        return lambda: F.max_pool2d(x, window, stride, pad)
    if op == "AvgPool":
        x = image(inputs[0])  # PyTorch counts what it adds; with ceil_mode it adds at the end as TensorFlow does
        return lambda: F.avg_pool2d(x, window, stride, ceil_mode=True, count_include_pad=False)
    if op == "MaxPoolGrad":
        x, pad = padded(image(inputs[0]), window, stride, float("-inf"))
        grad = image(inputs[2])

        def call():  # TensorFlow's operation finds the places itself; PyTorch's is told them by its forward pass
            _, places = F.max_pool2d(x, window, stride, pad, return_indices=True)
            torch.ops.aten.max_pool2d_with_indices_backward(grad, x, [window] * 2, [stride] * 2, [pad] * 2, [1, 1], False,
                                                            places)
        return call
    x, grad = image(torch.zeros(inputs[0].tolist())), image(inputs[1])
    return lambda: torch.ops.aten.avg_pool2d_backward(grad, x, [window] * 2, [stride] * 2, [0, 0], True, False, None)


def batch_norm(op, inputs, attrs):
    if op == "FusedBatchNormV3":
        x, scale, offset, mean, variance = inputs
        x, training = image(x), attrs["is_training"]
        if training:
            mean = variance = None
        return lambda: torch.ops.aten.native_batch_norm(x, scale, offset, mean, variance, training, 0.1, 1e-4)
    grad, x, scale, mean, variance = inputs[:5]
    grad, x = image(grad), image(x)
    return lambda: torch.ops.aten.native_batch_norm_backward(grad, x, scale, None, None, mean, variance, True, 1e-4,
                                                             [True, True, True])


def axes(op, inputs, attrs):
    x, dims = inputs[0], inputs[1].tolist()
    call = {"Sum": torch.sum, "Mean": torch.mean, "Max": torch.amax}[op]
    return lambda: call(x, dims)


UNARY = {"Relu": torch.relu, "Exp": torch.exp, "Log1p": torch.log1p, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid,
         "Rsqrt": torch.rsqrt, "Erf": torch.erf, "Square": torch.square, "Sin": torch.sin}
BINARY = {"AddV2": torch.add, "Mul": torch.mul, "RealDiv": torch.div, "Maximum": torch.maximum, "Greater": torch.gt,
          "ReluGrad": lambda dy, y: torch.ops.aten.threshold_backward(dy, y, 0),
          "TanhGrad": lambda y, dy: torch.ops.aten.tanh_backward(dy, y),
          "SquaredDifference": lambda a, b: (a - b).square_()}


def scatter_update(op, inputs, attrs):
    x, indices, updates = inputs[0], inputs[1].view(-1).long(), inputs[2]
    return lambda: x.index_copy(0, indices, updates)


def segment_sum(op, inputs, attrs):
    x, ids, count = inputs[0], inputs[1].long(), int(inputs[2])
    return lambda: torch.zeros(count, x.shape[1]).index_add_(0, ids, x)


def matmul(op, inputs, attrs):
    a = inputs[0].mT if attrs.get("transpose_a") or attrs.get("adj_x") else inputs[0]
    b = inputs[1].mT if attrs.get("transpose_b") or attrs.get("adj_y") else inputs[1]
    return lambda: torch.matmul(a, b)


def cross_entropy(op, inputs, attrs):
    x, labels = inputs[0].requires_grad_(), inputs[1].long()

    def call():  # the losses and their gradient, as TensorFlow's operation gives both
        x.grad = None
        with torch.enable_grad():
            F.cross_entropy(x, labels, reduction="sum").backward()
    return call


def simple(make):
    return lambda op, inputs, attrs: make(*inputs)


OPS = {
    **{op: convolution for op in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative")},
    **{op: pool for op in ("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad")},
    **{op: batch_norm for op in ("FusedBatchNormV3", "FusedBatchNormGradV3")},
    **{op: axes for op in ("Sum", "Mean", "Max")},
    **{op: matmul for op in ("MatMul", "BatchMatMulV2")},
    **{op: simple(lambda x, f=f: lambda: f(x)) for op, f in UNARY.items()},
    **{op: simple(lambda a, b, f=f: lambda: f(a, b)) for op, f in BINARY.items()},
    "Softmax": simple(lambda x: lambda: torch.softmax(x, -1)),
    "LogSoftmax": simple(lambda x: lambda: torch.log_softmax(x, -1)),
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
    "BiasAdd": simple(lambda x, b: lambda: x + b),
    "BiasAddGrad": simple(lambda x: lambda: x.sum((0, 1, 2))),
    "ArgMax": simple(lambda x, axis: lambda a=int(axis): torch.argmax(x, a)),
    "AddN": simple(lambda *x: lambda: torch.stack(x).sum(0) if len(x) > 4 else x[0] + x[1] + x[2] + x[3]),
    "Cast": simple(lambda x: lambda: x.int()),
    "GatherV2": simple(lambda x, i, axis: lambda: torch.index_select(x, 0, i)),
    "UnsortedSegmentSum": segment_sum,
    "TensorScatterUpdate": scatter_update,
    "Transpose": simple(lambda x, order: lambda o=order.tolist(): x.permute(o).contiguous()),
    "ConcatV2": simple(lambda a, b, axis: lambda d=int(axis): torch.cat((a, b), d)),
    "Slice": simple(lambda x, at, size: lambda: x[:, int(at[1]):int(at[1] + size[1])].contiguous()),
    "Tile": simple(lambda x, by: lambda r=by.tolist(): x.repeat(r)),
    "TopKV2": simple(lambda x, k: lambda n=int(k): torch.topk(x, n)),
    "Cumsum": simple(lambda x, axis: lambda a=int(axis): torch.cumsum(x, a)),
}


def tensor(spec):
    if "value" in spec:
        return torch.tensor(spec["value"])
    if spec["below"]:
        return torch.randint(spec["below"], spec["shape"], dtype=torch.int32)
    return torch.randn(spec["shape"])


def main():
    torch.set_num_threads(2)
    torch.manual_seed(1)
    calls = {}
    with torch.no_grad():
        for line in sys.stdin:
            order = json.loads(line)
            if "seconds" in order:
                answer = {"ms": best(calls[order["name"]], order["seconds"])}
            else:
                has = order["op"] in OPS
                if has:
                    call = OPS[order["op"]](order["op"], [tensor(i) for i in order["inputs"]], order["attrs"])
                    call()
                    calls[order["name"]] = call
                answer = {"ok": has}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
