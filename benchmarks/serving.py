#!/usr/bin/env python3
"""`weir serve` beside the servers that a user would write today, and beside the bare session, in one run.

    python3 benchmarks/serving.py --weir build/release/bin/weir [--models mnist,resnet50] [--clients 1,8,64]
        [--peers tensorflow,onnxruntime] [--onnx_python PYTHON] [--seconds 5] [--changes 20]

The interpreter must have TensorFlow and grpcio. The peer `onnxruntime` (FastAPI over HTTP) is run by `--onnx_python`, an
interpreter with onnx, onnxruntime, fastapi and uvicorn; without one it is left out. Clients are threads of one process
that send the same bytes again and again, one request after the other. Requests have one row. The lines of weir say what
the server itself measured, too: the mean time from a whole request to a whole answer, and that of the model's step.
`--changes` adds versions under load and says how many requests failed and how the 99.9th percentile compares with a
quiet server.
"""
import argparse
import http.client
import json
import os
import shutil
import socket
import subprocess
import re
import sys
import tempfile
import threading
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# A server as the guides have it: gRPC's Python server, a thread per core, over a SavedModel's function.
TENSORFLOW_PEER = """
import os, sys
from concurrent import futures
import grpc, numpy as np, tensorflow as tf
folder, port = sys.argv[1:3]
model = tf.saved_model.load(folder)
serve = model.signatures["serving_default"]
name = next(iter(serve.structured_input_signature[1]))
shape = [1] + list(serve.structured_input_signature[1][name].shape[1:])
def predict(request, context):
    outputs = serve(**{name: tf.constant(np.frombuffer(request, "f").reshape(shape))})
    return next(iter(outputs.values())).numpy().tobytes()
handler = grpc.method_handlers_generic_handler("peer", {"Predict": grpc.unary_unary_rpc_method_handler(predict)})
server = grpc.server(futures.ThreadPoolExecutor(os.cpu_count() * 2))
server.add_generic_rpc_handlers((handler,))
server.add_insecure_port("127.0.0.1:" + port)
server.start()
print("ready", flush=True)
server.wait_for_termination()
"""

ONNX_PEER = """
import sys
import numpy as np, onnxruntime, uvicorn
from fastapi import FastAPI, Request, Response
path, port = sys.argv[1:3]
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
given = session.get_inputs()[0]
shape = [1] + list(given.shape[1:])
app = FastAPI()
@app.post("/predict")
async def predict(request: Request):
    x = np.frombuffer(await request.body(), "f").reshape(shape)
    return Response(session.run(None, {given.name: x})[0].tobytes())
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("ready", flush=True)
Server(uvicorn.Config(app, host="127.0.0.1", port=int(port), log_level="error")).run()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# Writes an ONNX file from the layers that make_model has listed: argv are the list, the weights and the file.
ONNX_WRITER = """
import json, sys
import numpy as np, onnx
from onnx import helper, numpy_helper
layers, weights = json.load(open(sys.argv[1])), np.load(sys.argv[2])
nodes, constants = [], []
def constant(name, value):
    constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    return name
def node(op, inputs, output, **attributes):
    nodes.append(helper.make_node(op, inputs, [output], **attributes))
    return output
values = {}
for layer in layers:
    name, kind = layer["name"], layer["kind"]
    given = [values[each] for each in layer["inputs"]]
    w = [weights[each] for each in layer["weights"]]
    if kind == "InputLayer":
        shape = layer["shape"]
        out = node("Transpose", ["input"], name, perm=[0, 3, 1, 2])
    elif kind == "Conv2D":
        pads = "SAME_UPPER" if layer["padding"] == "same" else "VALID"
        inputs = given + [constant(name + "_w", w[0].transpose(3, 2, 0, 1))] + ([constant(name + "_b", w[1])] if len(w) > 1 else [])
        out = node("Conv", inputs, name, strides=layer["strides"], auto_pad=pads)
    elif kind == "BatchNormalization":
        out = node("BatchNormalization", given + [constant(f"{name}_{i}", v) for i, v in enumerate(w)], name, epsilon=layer["epsilon"])
    elif kind == "MaxPooling2D":
        out = node("MaxPool", given, name, kernel_shape=layer["pool"], strides=layer["strides"])
    elif kind == "ZeroPadding2D":
        (top, bottom), (left, right) = layer["pads"]
        out = node("Pad", given + [constant(name + "_p", np.array([0, 0, top, left, 0, 0, bottom, right], "int64"))], name)
    elif kind == "GlobalAveragePooling2D":
        out = node("Flatten", [node("GlobalAveragePool", given, name + "_4d")], name)
    elif kind == "Flatten":
        out = node("Flatten", [node("Transpose", given, name + "_t", perm=[0, 2, 3, 1])], name)
    elif kind == "Dense":
        out = node("Gemm", given + [constant(name + "_w", w[0]), constant(name + "_b", w[1])], name)
    elif kind == "Add":
        out = node("Add", given, name)
    elif kind == "Activation":
        out = given[0]
    else:
        sys.exit("no ONNX form of " + kind)
    activation = {"relu": "Relu", "softmax": "Softmax", None: None, "linear": None}[layer.get("activation")]
    values[name] = node(activation, [out], name + "_a") if activation else out
graph = helper.make_graph(nodes, "model", [helper.make_tensor_value_info("input", 1, [None] + shape)],
                          [helper.make_tensor_value_info(values[layers[-1]["name"]], 1, None)], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.save(model, sys.argv[3])
"""


def make_model(name, folder):
    """Writes a SavedModel, and beside it a description of its layers; gives the shape of a row and Keras' model."""
    import numpy as np
    import tensorflow as tf
    k = tf.keras
    if name == "mnist":
        model = k.Sequential([k.layers.Input((28, 28, 1)), k.layers.Conv2D(32, 3, activation="relu"), k.layers.MaxPooling2D(),
                              k.layers.Conv2D(64, 3, activation="relu"), k.layers.MaxPooling2D(), k.layers.Flatten(),
                              k.layers.Dense(10, activation="softmax")])
    else:
        model = k.applications.ResNet50(weights=None)
    model.export(folder, verbose=False)
    layers, weights = [], {}
    first = {"name": "input_layer", "kind": "InputLayer", "inputs": [], "weights": [], "shape": list(model.input_shape[1:])}
    for layer in [None] * (not isinstance(model.layers[0], k.layers.InputLayer)) + model.layers:
        if layer is None or isinstance(layer, k.layers.InputLayer):
            layers.append(first)
            continue
        entry = {"name": layer.name, "kind": type(layer).__name__, "inputs": [], "weights": []}
        inputs = layer.input if isinstance(layer.input, list) else [layer.input]
        for value in inputs:
            source = value._keras_history.operation
            entry["inputs"].append("input_layer" if isinstance(source, k.layers.InputLayer) else source.name)
        for i, weight in enumerate(layer.get_weights()):
            weights[f"{layer.name}_{i}"] = weight
            entry["weights"].append(f"{layer.name}_{i}")
        for key, attribute in (("strides", "strides"), ("padding", "padding"), ("pool", "pool_size"), ("epsilon", "epsilon"),
                               ("pads", "padding")):
            if hasattr(layer, attribute):
                entry[key] = getattr(layer, attribute)
        if getattr(layer, "activation", None) is not None:
            entry["activation"] = layer.activation.__name__
        layers.append(entry)
    with open(folder + ".json", "w") as file:
        json.dump(layers, file)
    np.savez(folder + ".npz", **weights)
    return model.input_shape[1:], model


def server_means(port, model):
    """Mean microseconds of a request and of its step since the last call, as the server has measured them."""
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/monitoring/prometheus/metrics").read().decode()
    found = {}
    for key, pattern in (("request", rf':request_latency_(sum|count){{model_name="{model}",API="Predict",entrypoint="GRPC"}} (\S+)'),
                         ("step", r':stage_latency_(sum|count){[^}]*stage="run"} (\S+)')):
        found[key] = [sum(float(value) for kind, value in re.findall(pattern, page) if kind == which) for which in ("sum", "count")]
    return found


def start(command, ready):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith(ready):
            return process, line
    raise SystemExit(f"{' '.join(command[:3])} did not start")


def measure(make_call, clients, seconds):
    """Requests per second, percentiles in milliseconds, failures."""
    times, failed, stop = [], [0], threading.Event()

    def work():
        call, own = make_call(), []
        while not stop.is_set():
            begin = time.perf_counter()
            try:
                call()
                own.append(time.perf_counter() - begin)
            except Exception:  # of whatever client library
                failed[0] += 1
        times.extend(own)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    times.sort()
    at = lambda share: 1e3 * times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")
    return len(times) / took, at(0.5), at(0.99), at(0.999), failed[0]


def grpc_call(target, path, request):
    import grpc

    def make():
        channel = grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1),
                                                         ("grpc.max_send_message_length", -1)])
        method = channel.unary_unary(path)
        return lambda: method(request, timeout=60)
    return make


def http_call(port, body):
    def make():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def call():
            connection.request("POST", "/predict", body)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or not content:
                raise RuntimeError(answer.status)
            return content
        return call
    return make


def encode_predict(name, given, row):
    """A PredictRequest for model `name` with the input `given`, by hand: no stubs are needed."""
    import tensorflow as tf
    field = lambda number, data: bytes([number << 3 | 2]) + varint(len(data)) + data
    tensor = tf.make_tensor_proto(row).SerializeToString()
    return field(1, field(1, name.encode())) + field(2, field(1, given.encode()) + field(2, tensor))


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def change_versions(folder, source, make_call, clients, changes, quiet):
    """Adds versions under load, one after another, as soon as the one before it is served."""
    stop = threading.Event()

    def change():
        for version in range(2, changes + 2):
            shutil.copytree(source, f"{folder}/.new")
            os.rename(f"{folder}/.new", f"{folder}/{version}")
            stop.wait(1.5)
    changer = threading.Thread(target=change)
    changer.start()
    result = measure(make_call, clients, changes * 1.5 + 1)
    stop.set()
    changer.join()
    rate, p50, p99, p999, failed = result
    print(f"  {changes} version changes, {clients} clients: {rate:9.1f}/s  p50 {p50:8.2f}  p99 {p99:8.2f}  p99.9 {p999:8.2f} ms"
          f"  ({p999 / quiet:.2f}x quiet)  {failed} failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", required=True)
    parser.add_argument("--models", default="mnist,resnet50")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--peers", default="tensorflow,onnxruntime")
    parser.add_argument("--onnx_python", default="")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--changes", type=int, default=20)
    arguments = parser.parse_args()
    import numpy as np
    for model in arguments.models.split(","):
        root = tempfile.mkdtemp(prefix="weir_serving_")
        source = root + "/source"
        shape, keras_model = make_model(model, source)
        row = np.random.default_rng(1).random((1,) + shape, "f")
        given = keras_model.inputs[0].name
        expected = keras_model(row, training=False).numpy()
        folder = root + "/" + model
        shutil.copytree(source, folder + "/1")
        np.save(root + "/row.npy", row)
        with open(root + "/monitoring", "w") as file:
            file.write("prometheus_config { enable: true }")
        print(model)
        bare = subprocess.run([arguments.weir, "run", source, "--feed", f"{given}={root}/row.npy", "--repeat", "200"],
                              capture_output=True, text=True)
        print("  bare session:", "; ".join((bare.stdout + bare.stderr).strip().splitlines()[-2:])[-160:])
        servers = []
        process, line = start([arguments.weir, "serve", "--host", "127.0.0.1", "--port", "0", "--rest_api_port", "0",
                               "--monitoring_config_file", root + "/monitoring", "--model_name", model, "--model_base_path",
                               folder], "grpc")
        target, rest_port = "127.0.0.1:" + line.split()[1], line.split()[3]
        ours = grpc_call(target, "/tensorflow.serving.PredictionService/Predict", encode_predict(model, given, row))
        servers.append(("weir", process, ours))
        if "tensorflow" in arguments.peers:
            port = str(free_port())
            process, _ = start([sys.executable, "-c", TENSORFLOW_PEER, source, port], "ready")
            peer = grpc_call("127.0.0.1:" + port, "/peer/Predict", row.tobytes())
            np.testing.assert_allclose(np.frombuffer(peer()(), "f"), expected.ravel(), rtol=1e-3, atol=1e-5)
            servers.append(("tensorflow", process, peer))
        if "onnxruntime" in arguments.peers and arguments.onnx_python:
            port, path = free_port(), root + "/model.onnx"
            subprocess.run([arguments.onnx_python, "-c", ONNX_WRITER, source + ".json", source + ".npz", path], check=True)
            process, _ = start([arguments.onnx_python, "-c", ONNX_PEER, path, str(port)], "ready")
            peer = http_call(port, row.tobytes())
            np.testing.assert_allclose(np.frombuffer(peer()(), "f"), expected.ravel(), rtol=1e-3, atol=1e-5)
            servers.append(("onnxruntime", process, peer))
        quiet = float("nan")
        for clients in map(int, arguments.clients.split(",")):
            for name, process, call in servers:
                measure(call, clients, min(1.0, arguments.seconds))
                before = server_means(rest_port, model) if name == "weir" else None
                rate, p50, p99, p999, failed = measure(call, clients, arguments.seconds)
                if name == "weir" and clients == 8:
                    quiet = p999
                print(f"  {name:12} {clients:3} clients: {rate:9.1f}/s  p50 {p50:8.2f}  p99 {p99:8.2f}  p99.9 {p999:8.2f} ms"
                      f"  {failed} failed", end="", flush=True)
                if before:
                    after = server_means(rest_port, model)
                    mean = lambda key: (after[key][0] - before[key][0]) / max(1, after[key][1] - before[key][1])
                    print(f"  in the server {mean('request'):.0f} us, step {mean('step'):.0f} us", end="")
                print(flush=True)
        if arguments.changes > 0:
            change_versions(folder, source, ours, 8, arguments.changes, quiet)
        for name, process, call in servers:
            process.kill()
            process.wait()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
