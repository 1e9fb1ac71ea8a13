#!/usr/bin/env python3
"""Runs the program `weir` on files that TensorFlow wrote, and on bad ones. Arguments: the program, the fixtures' folder."""

import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

WEIR = sys.argv[1]
FIXTURES = pathlib.Path(sys.argv[2])

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "scope/y" op: "AddV2" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "t" op: "Identity" input: "s" attr { key: "T" value { type: DT_STRING } } }
node { name: "m" op: "Identity" input: "n" attr { key: "T" value { type: DT_INT32 } } }
node { name: "done" op: "NoOp" input: "^scope/y" }
"""


def weir(*arguments, input=None):
    return subprocess.run([WEIR, *map(str, arguments)], capture_output=True, timeout=60, input=input)


def npy(path, dtype, shape, data):
    header = repr({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def same(got, want):
    """Equal, numbers within the rounding of a float."""
    if isinstance(want, bool) or isinstance(got, bool):
        return got == want
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return got == want or math.isclose(got, want, rel_tol=1e-6)
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    return got == want


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.graph = self.folder / "graph.pbtxt"
        self.graph.write_text(GRAPH)

    def good(self, *arguments):
        done = weir(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def lines(self, *arguments):
        return [json.loads(line) for line in self.good(*arguments).splitlines()]

    def bad(self, *arguments):
        """The one line of an error."""
        done = weir(*arguments)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, 1, (arguments, error))
        self.assertTrue(error.startswith("weir: ") and error.count("\n") == 1, (arguments, error))
        return error

    def test_help_has_an_example(self):
        for command in ("run", "show", "ops", "bench", "server"):
            self.assertIn(f"weir {command}", self.good(command, "--help"), command)

    # bench

    def test_bench_answers_a_driver(self):
        requests = "prepare mlp_train weir\nprepare call_add weir\nmeasure 0 0.01\nprepare no_such weir\nmeasure 7 1\n"
        done = weir("bench", "--serve", input=requests.encode())
        self.assertEqual(done.returncode, 0)
        hello, model, engine, times, unknown, missing = map(json.loads, done.stdout.decode().splitlines())
        self.assertIn("version", hello)
        first, fifth = model["check"]
        self.assertAlmostEqual(first, 3.1471283, delta=1e-5)  # TensorFlow's losses, from the same numbers
        self.assertAlmostEqual(fifth, 2.8923471, delta=1e-5)
        self.assertIsNone(engine["check"])
        self.assertGreaterEqual(len(times["ms"]), 3)
        self.assertIn("no_such", unknown["error"])
        self.assertIn("error", missing)

    def test_bench_trains_on_a_chosen_device(self):
        line, = self.good("bench", "train", "--device", "CPU:0", "--filter", "mnist_cnn_b64", "--batch", 4,
                          "--steps", 1).splitlines()
        first, last = map(float, re.search(r"loss (\S+) -> (\S+)$", line).groups())
        self.assertLess(last, first)
        self.assertIn("mean", self.good("bench", "infer", "--device", "CPU:0", "--filter", "mnist_cnn_b64", "--batch", 4,
                                        "--steps", 1, "--precision", "bfloat16"))
        done = weir("bench", "train", "--device", "GPU:77", "--filter", "mnist_cnn_b64")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no device 'GPU:77'", done.stdout.decode())

    # show

    def test_records(self):
        for name, expected in json.loads((FIXTURES / "records/expected.json").read_text()).items():
            path = FIXTURES / "records" / name
            if name == "corrupt_length.tfrecord":  # not even its first bytes are a record's
                self.bad("show", path, "--json")
                continue
            done = weir("show", path, "--json")
            self.assertEqual(done.returncode, 1 if expected["error"] else 0, name)
            records = [json.loads(line) for line in done.stdout.decode().splitlines()]
            self.assertEqual([record["size"] for record in records], expected["sizes"], name)
            self.assertTrue(same([record["example"] for record in records], expected["examples"]), name)
        self.assertIn('name: bytes ["row 1"]', self.good("show", FIXTURES / "records/zlib.tfrecord", "--limit", 2))

    def test_place(self):
        # Two chains of products, which nothing joins before their end.
        floats = 'attr { key: "T" value { type: DT_FLOAT } }'
        text = "".join(
            f'node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} '
            f'attr {{ key: "shape" value {{ shape {{ dim {{ size: {rows} }} dim {{ size: 64 }} }} }} }} }}\n'
            for name, rows in (("x", -1), ("wp", 64), ("wq", 64)))
        for branch in "pq":
            for i in range(4):
                before = f"{branch}{i - 1}" if i > 0 else "x"
                text += f'node {{ name: "{branch}{i}" op: "MatMul" input: "{before}" input: "w{branch}" {floats} }}\n'
        text += f'node {{ name: "z" op: "Pack" input: "p3" input: "q3" attr {{ key: "N" value {{ i: 2 }} }} {floats} }}\n'
        graph = self.folder / "two.pbtxt"
        graph.write_text(text)
        plans = {}
        for placer in ("default", "greedy", "heft"):
            plan = json.loads(self.good("place", graph, "--devices", "cpu:0,cpu:1", "--placer", placer, "--json"))
            self.assertEqual({node["name"] for node in plan["nodes"]},
                             {"x", "wp", "wq", "z"} | {b + str(i) for b in "pq" for i in range(4)})
            self.assertAlmostEqual(plan["makespan_us"], max(node["finish_us"] for node in plan["nodes"]))
            plans[placer] = plan
        self.assertEqual(plans["default"]["transfers"], [])
        for placer in ("greedy", "heft"):
            self.assertLess(plans[placer]["makespan_us"], plans["default"]["makespan_us"])
            self.assertEqual(len({node["device"] for node in plans[placer]["nodes"]}), 2)
        # Measured: what steps taught the model is used.
        costs = self.folder / "costs.txt"
        feeds = []
        for name, rows in (("x", 2), ("wp", 64), ("wq", 64)):
            npy(self.folder / f"{name}.npy", "<f4", (rows, 64), bytes(rows * 64 * 4))
            feeds += ["--feed", f"{name}={self.folder}/{name}.npy"]
        self.good("run", graph, *feeds, "--fetch", "z", "--repeat", "3", "--costs", costs)
        self.assertIn("float[2,64];float[64,64]->float[2,64]", costs.read_text())
        measured = json.loads(self.good("place", graph, "--feed", "x,wp,wq", "--fetch", "z", "--costs", costs, "--json"))
        self.assertEqual(measured["estimated"], 0)
        self.assertGreater(measured["measured"], 0)
        drawing = self.folder / "plan.svg"
        text = self.good("place", graph, "--devices", "/job:worker/cpu:0,/job:ps/gpu:0", "--svg", drawing, "--limit", 2)
        self.assertIn("placer default: makespan", text)
        self.assertIn("--limit 0 shows all", text)
        xml.dom.minidom.parse(str(drawing))
        self.assertIn("Examples", self.good("place", "--help"))

    def test_place_refuses(self):
        for arguments in (["--placer", "best"], ["--devices", "/foo:bar"], ["--devices", "cpu:0,cpu:0"],
                          ["--costs", self.folder / "none"], ["--costs", self.graph], ["--fetch", "nothing"]):
            self.bad("place", self.graph, *arguments)
        self.bad("place", self.folder / "none.pb")

    def test_events(self):
        for kind in ("new", "old"):
            path = FIXTURES / f"events/events.out.tfevents.1700000000.{kind}"
            expected = json.loads((FIXTURES / f"events/expected_{kind}.json").read_text())
            events = self.lines("show", path, "--json")
            self.assertEqual(len(events), len(expected))
            for got, want in zip(events, expected):
                self.assertTrue(same(got, want), (got, want))
            self.assertIn("loss", self.good("show", path))

    def test_checkpoints(self):
        for folder in ("saver", "object", "sharded", "format_v1"):
            path = FIXTURES / "checkpoint_v2" / folder
            expected = json.loads((path / "expected.json").read_text())
            [shown] = self.lines("show", path / expected["prefix"], "--json", "--values", 10000)
            tensors = {tensor["name"]: tensor for tensor in shown["tensors"]}
            tensors.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
            self.assertEqual(tensors.keys(), expected["tensors"].keys())
            for name, want in expected["tensors"].items():
                got = tensors[name]
                self.assertEqual((got["dtype"], got["shape"]), (want["dtype"], want["shape"]), name)
                if "values" in want:
                    self.assertTrue(same(got["values"], want["values"]), (name, got, want))
            self.assertIn(min(expected["tensors"]), self.good("show", path))
        self.assertIn("by_rows  float32 [7,3]  in 3 slices", self.good("show", FIXTURES / "checkpoint_v2/saver"))

    def test_saved_models(self):
        path = FIXTURES / "saved_model/tf2_module/model"
        text = self.good("show", path)
        self.assertIn("signature serving_default", text)
        self.assertIn("input  x: float32 [?,3]", text)
        [shown] = self.lines("show", path, "--json")
        self.assertEqual(shown["graphs"][0]["signatures"]["count"]["inputs"]["step"]["dtype"], "int64")
        self.assertEqual(self.good("show", path / "saved_model.pb"), text)
        self.assertIn("StatefulPartitionedCall", self.good("show", path, "--graph"))
        self.bad("show", path, "--graph", "--tags", "train")
        self.assertIn("nodes", self.good("show", FIXTURES / "checkpoint_v2/saver/model.ckpt-7.meta"))

    def test_graphs(self):
        text = self.good("show", self.graph)
        self.assertIn("scope/y = AddV2(x, x) {T=", text)
        [shown] = self.lines("show", self.graph, "--json")
        self.assertEqual([node["name"] for node in shown["node"]], ["x", "s", "n", "scope/y", "t", "m", "done"])
        drawing = self.folder / "graph.svg"
        for graph in sorted((FIXTURES / "graphs").glob("*/graph.pb")):
            nodes = self.good("show", graph).split(" ")[1]
            self.good("show", graph, "--svg", drawing)
            boxes = xml.dom.minidom.parse(str(drawing)).getElementsByTagName("g")
            self.assertEqual(len(boxes), int(nodes), graph)

    def test_large_graphs_are_not_drawn(self):
        self.graph.write_text("".join(f'node {{ name: "n{i}" op: "NoOp" }}\n' for i in range(3001)))
        self.assertIn("3001 nodes", self.bad("show", self.graph, "--svg", self.folder / "graph.svg"))

    def test_arrays(self):
        path = self.folder / "a.npy"
        npy(path, "<i8", [2, 2], struct.pack("<4q", 1, 2, 3, -4))
        self.assertEqual(self.lines("show", path, "--json"), [{"dtype": "int64", "shape": [2, 2], "values": [1, 2, 3, -4]}])

    def test_bad_files(self):
        self.bad("show")
        self.bad("show", self.folder / "nothing")
        self.bad("show", self.folder)
        (self.folder / "empty").write_bytes(b"")
        self.bad("show", self.folder / "empty")
        (self.folder / "noise").write_bytes(bytes(range(256)) * 7)
        self.bad("show", self.folder / "noise")
        (self.folder / "text").write_text("These are words.")
        self.bad("show", self.folder / "text")
        self.bad("show", FIXTURES / "records/plain.tfrecord", "--svg", self.folder / "x.svg")
        self.bad("show", self.graph, "--svg", self.folder / "no/such/folder.svg")
        self.bad("show", FIXTURES / "checkpoint_v2/saver", "--tensor", "nobody")
        self.bad("nonsense")

    def test_damaged_files(self):
        """Cut or with a wrong bit, a file is shown or refused in one line."""
        damaged = self.folder / "damaged"
        for name in ("records/gzip.tfrecord", "checkpoint_v2/format_v1/model.ckpt", "graphs/while_v1/graph.pb",
                     "saved_model/tf2_module/model/saved_model.pb", "events/events.out.tfevents.1700000000.old"):
            good = (FIXTURES / name).read_bytes()
            for i in range(1, 9):
                at = len(good) * i // 9
                for data in (good[:at], good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:]):
                    damaged.write_bytes(data)
                    done = weir("show", damaged)
                    self.assertIn(done.returncode, (0, 1), (name, at))
                    self.assertLessEqual(done.stderr.count(b"\n"), 1, (name, at, done.stderr))

    # run

    def test_traces(self):
        """A RunMetadata put together by hand: two operations of two threads."""
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data

        def varint(number, value):
            out = bytes([number << 3])
            while value >= 0x80:
                out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
            return out + bytes([value])

        def node(name, op, start, length, thread):
            return field(2, field(1, name) + varint(2, start) + varint(4, length) + varint(5, length) + field(8, name + b" = " + op + b"(x)") + varint(10, thread))

        device = field(1, b"/device:CPU:0") + node(b"a<b", b"MatMul", 1000, 50, 1) + node(b"c", b"Relu", 1060, 40, 2)
        path = self.folder / "metadata.pb"
        for data in (field(1, field(1, device)), field(1, device)):
            path.write_bytes(data)
            drawing, trace = self.folder / "step.svg", self.folder / "step.json"
            text = self.good("trace", path, "--svg", drawing, "--json", trace)
            self.assertIn("/device:CPU:0: 2 operations, 90.0 us", text)
            self.assertIn("MatMul", text)
            titles = [t.firstChild.data for t in xml.dom.minidom.parse(str(drawing)).getElementsByTagName("title")]
            self.assertEqual(titles, ["a<b (MatMul): 50 us", "c (Relu): 40 us"])
            events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
            self.assertEqual([(e["name"], e["ts"], e["dur"]) for e in events], [("MatMul", 0, 50), ("Relu", 60, 40)])
        self.bad("trace", self.graph)
        self.bad("trace", self.folder / "nothing")
        self.bad("trace", FIXTURES / "events/events.out.tfevents.1700000000.old", "--tag", "nobody")
        self.bad("trace", path, "--svg", path / "under_a_file.svg")

    def test_runs_a_graph(self):
        self.assertEqual(self.good("run", self.graph, "--feed", "x:0=1.5", "--fetch", "scope/y:0"),
                         "scope/y:0 = float []: 3\n")
        out = self.good("run", self.graph, "--feed", "x=[[1, 2], [3, -inf]]", "--fetch", "scope/y", "--target", "done")
        self.assertEqual(out, "scope/y = float [2,2]: 2 4 6 -inf\n")
        self.assertIn('"a, b"', self.good("run", self.graph, "--feed", "s=a, b", "--fetch", "t"))
        self.assertIn('[2]: "a" "b"', self.good("run", self.graph, "--feed", "s=['a', \"b\"]", "--fetch", "t"))
        self.assertIn("int32 [0]", self.good("run", self.graph, "--feed", "n=[]", "--fetch", "m"))

    def test_files_in_and_out(self):
        data = struct.pack("<3f", 1, 2, 3)
        npy(self.folder / "in.npy", "<f4", [3], data)
        feed = f"x:0={self.folder}/in.npy"
        self.assertEqual(self.good("run", self.graph, "--feed", feed, "--fetch", "scope/y:0", "--output",
                                   f"scope/y:0={self.folder}/out.npy"), "")
        self.assertTrue((self.folder / "out.npy").read_bytes().endswith(struct.pack("<3f", 2, 4, 6)))
        self.good("run", self.graph, "--feed", feed, "--fetch", "scope/y:0", "--output", self.folder / "results")
        self.assertEqual(os.listdir(self.folder / "results"), ["scope_y.npy"])

    def test_times_and_traces(self):
        trace = self.folder / "trace.json"
        out = self.good("run", self.graph, "--feed", "x=1", "--target", "done", "--repeat", 5, "--trace", trace)
        self.assertIn("5 runs: min ", out)
        self.assertIn("median", out)
        self.assertIn("AddV2", json.dumps(json.loads(trace.read_text())))

    def test_runs_saved_models(self):
        model = FIXTURES / "saved_model/tf2_asset/model"
        self.assertEqual(self.good("run", model, "--feed", "words=['cherry', '?', 'apple']"), "ids = int64 [3]: 2 -1 0\n")
        model = FIXTURES / "saved_model/tf2_module/model"
        self.assertEqual(self.good("run", model, "--signature", "count", "--feed", "step=5"), "total = int64 []: 5\n")
        self.bad("run", model, "--signature", "nobody", "--feed", "step=5")
        self.bad("run", model, "--tags", "train")

    def test_bad_runs(self):
        run = ("run", self.graph)
        self.bad("run")
        self.bad("run", self.folder / "nothing", "--fetch", "x")
        self.bad("run", FIXTURES / "records/plain.tfrecord", "--fetch", "x")
        self.bad(*run)
        self.bad(*run, "--fetch", "nobody")
        self.bad(*run, "--fetch", "scope/y:0")  # x is not fed
        self.bad(*run, "--fetch", "scope/y:0", "--signature", "s")
        for feed in ("x", "=1", "nobody=1", "x:7=1", "x=", "x=one", "x=[1", "x=[1]]", "x=[[1, 2], [3]]", "x=[1, [2]]",
                     "x=[[], [1]]", "n=1.5", "n=3000000000", "x=missing.npy"):
            self.bad(*run, "--feed", feed, "--fetch", "scope/y")
        npy(self.folder / "double.npy", "<f8", [], struct.pack("<d", 1))
        self.assertIn("float64", self.bad(*run, "--feed", f"x={self.folder}/double.npy", "--fetch", "scope/y"))
        (self.folder / "short.npy").write_bytes((self.folder / "double.npy").read_bytes()[:-3])
        self.bad(*run, "--feed", f"x={self.folder}/short.npy", "--fetch", "scope/y")
        self.bad(*run, "--feed", "x=1", "--fetch", "scope/y", "--repeat", "0")
        self.bad(*run, "--feed", "x=1", "--fetch", "scope/y", "--output", "z=out.npy")
        self.bad(*run, "--feed", "x=1", "--fetch", "scope/y", "--trace", self.folder / "no/such/folder.json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
