#!/usr/bin/env python3
"""`weir serve` beside the servers that a user would write today, and beside the bare session, in one run.

    python3 benchmarks/serving.py --weir build/release/bin/weir [--models mnist,resnet50] [--clients 1,8,64]
        [--peers tensorflow,onnxruntime] [--seconds 5] [--changes 20]

The interpreter must have TensorFlow and grpcio; the peer `onnxruntime` (FastAPI over HTTP) needs onnxruntime, tf2onnx,
fastapi and uvicorn, and is left out where they are missing. Clients are threads of one process that send the same bytes
again and again, one request after the other. Requests have one row. `--changes` adds versions under load and says how
many requests failed and how the 99.9th percentile compares with a quiet server.
"""
import argparse
import http.client
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

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
@app.on_event("startup")
async def started():
    print("ready", flush=True)
uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_model(name, folder):
    """Writes a SavedModel and gives the shape of a row and the input's name."""
    import tensorflow as tf
    k = tf.keras
    if name == "mnist":
        shape = (28, 28, 1)
        model = k.Sequential([k.layers.Input(shape), k.layers.Conv2D(32, 3, activation="relu"), k.layers.MaxPooling2D(),
                              k.layers.Conv2D(64, 3, activation="relu"), k.layers.MaxPooling2D(), k.layers.Flatten(),
                              k.layers.Dense(10, activation="softmax")])
    else:
        shape = (224, 224, 3)
        model = k.applications.ResNet50(weights=None)
    function = tf.function(lambda x: {"y": model(x, training=False)},
                           input_signature=[tf.TensorSpec((None,) + shape, tf.float32, name="x")])
    tf.saved_model.save(model, folder, signatures=function)
    return shape


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
            if answer.status != 200 or not answer.read():
                raise RuntimeError(answer.status)
        return call
    return make


def encode_predict(name, row):
    """A PredictRequest for model `name`, by hand: no stubs are needed."""
    import tensorflow as tf
    field = lambda number, data: bytes([number << 3 | 2]) + varint(len(data)) + data
    tensor = tf.make_tensor_proto(row).SerializeToString()
    return field(1, field(1, name.encode())) + field(2, field(1, b"x") + field(2, tensor))


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
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--changes", type=int, default=20)
    arguments = parser.parse_args()
    import numpy as np
    has_onnx = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tf2onnx", "fastapi", "uvicorn"))
    for model in arguments.models.split(","):
        root = tempfile.mkdtemp(prefix="weir_serving_")
        source = root + "/source"
        row = np.random.default_rng(1).random((1,) + make_model(model, source), "f")
        folder = root + "/" + model
        shutil.copytree(source, folder + "/1")
        np.save(root + "/row.npy", row)
        print(model)
        bare = subprocess.run([arguments.weir, "run", source, "--feed", "x=" + root + "/row.npy", "--repeat", "200"],
                              capture_output=True, text=True)
        print("  bare session:", "; ".join((bare.stdout + bare.stderr).strip().splitlines()[-2:])[:160])
        servers = []
        process, line = start([arguments.weir, "serve", "--host", "127.0.0.1", "--port", "0", "--model_name", model,
                               "--model_base_path", folder], "grpc")
        target = "127.0.0.1:" + line.split()[1]
        ours = grpc_call(target, "/tensorflow.serving.PredictionService/Predict", encode_predict(model, row))
        servers.append(("weir", process, ours))
        if "tensorflow" in arguments.peers:
            port = str(free_port())
            process, _ = start([sys.executable, "-c", TENSORFLOW_PEER, source, port], "ready")
            servers.append(("tensorflow", process, grpc_call("127.0.0.1:" + port, "/peer/Predict", row.tobytes())))
        if "onnxruntime" in arguments.peers and has_onnx:
            port, path = free_port(), root + "/model.onnx"
            subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--saved-model", source, "--output", path], check=True,
                           capture_output=True)
            process, _ = start([sys.executable, "-c", ONNX_PEER, path, str(port)], "ready")
            servers.append(("onnxruntime", process, http_call(port, row.tobytes())))
        quiet = float("nan")
        for clients in map(int, arguments.clients.split(",")):
            for name, process, call in servers:
                measure(call, clients, min(1.0, arguments.seconds))
                rate, p50, p99, p999, failed = measure(call, clients, arguments.seconds)
                if name == "weir" and clients == 8:
                    quiet = p999
                print(f"  {name:12} {clients:3} clients: {rate:9.1f}/s  p50 {p50:8.2f}  p99 {p99:8.2f}  p99.9 {p999:8.2f} ms"
                      f"  {failed} failed", flush=True)
        if arguments.changes > 0:
            change_versions(folder, source, ours, 8, arguments.changes, quiet)
        for name, process, call in servers:
            process.kill()
            process.wait()
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
