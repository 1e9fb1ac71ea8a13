#!/usr/bin/env python3
"""Models the null step of a large cluster from costs that are measured on this machine.

    python3 benchmarks/cluster_model.py --weir build/release/bin/weir      measure, then model
    python3 benchmarks/cluster_model.py --svg docs/images/cluster_model.svg  model with the costs below, and draw

In the null step of the OSDI paper (Abadi et al. 2016, section 6.2) every worker fetches all parameters from the
parameter servers, does nothing with them and sends them back; a step ends when the last worker is done. Few people have
116 machines at hand, so the step is simulated. What is simulated, for each worker w and server p:

  request   w's processor and p's spend half a message's cost each, one message after the other
  fetch     p's shard leaves its network interface in pieces, in turn with those for other workers, and enters w's
  receive   w's processor spends a cost a byte
  push      the shard goes back the same way: out of w's interface, into p's, then p's processor adds it up

Interfaces send and receive at the same time; each has the bandwidth of the network. Shards are independent, so one is
pushed while another is fetched. Two numbers of the model are measured with `weir bench` (servers and workers as processes
of this machine), as the best of many steps: the cost of a message, from the steps of a scalar with one and with several
servers (which share this machine's cores, so it is rather too high), and the cost of a byte, from the step of 100 MB. The network is an assumption: the paper's, 10 Gb/s.
"""

import argparse
import heapq
import json
import subprocess

# Of the paper's figure 6: milliseconds of the median step for 1 and for 100 workers, 16 servers.
PAPER = {"scalar": (4, 1.8, 8.8), "100 MB": (100e6, 147, 613), "1 GB": (1e9, 1010, 7160)}
WORKERS = (1, 2, 5, 10, 25, 50, 100)
PIECES = 8  # of a shard: how finely transfers take turns

# Measured on two cores that others used too; `--weir` measures anew.
MEASURED = {"step_ns": 0, "message_ns": 408e3, "byte_ns": 0.304}


class Resource:
    """Something that does one thing at a time, in the order in which it is asked."""

    def __init__(self):
        self.free = 0.0

    def use(self, at, duration):
        self.free = max(self.free, at) + duration
        return self.free


class Simulation:
    """One step. Events are (time, number, function); what happens at the same time happens in order."""

    def __init__(self, workers, servers, size, costs, bytes_per_ns):
        self.events = []
        self.count = 0
        self.done = 0.0
        self.costs = costs
        self.shard = size / servers
        self.piece_ns = self.shard / PIECES / bytes_per_ns
        kinds = ("cpu", "in", "out")
        self.workers = [{kind: Resource() for kind in kinds} for _ in range(workers)]
        self.servers = [{kind: Resource() for kind in kinds} for _ in range(servers)]

    def at(self, time, action):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, action))

    def run(self):
        for i, worker in enumerate(self.workers):
            for j in range(len(self.servers)):
                # Workers begin with different servers, as their requests arrive in no order.
                self.request(worker, self.servers[(i + j) % len(self.servers)])
        while self.events:
            time, _, action = heapq.heappop(self.events)
            self.done = max(self.done, time)
            action(time)
        return self.done + self.costs["step_ns"]

    def request(self, worker, server):
        half = self.costs["message_ns"] / 2
        asked = worker["cpu"].use(0, half)
        self.at(asked, lambda t: self.at(server["cpu"].use(t, half), lambda t: self.fetch(t, worker, server)))

    def fetch(self, time, worker, server):
        self.send(time, server["out"], worker["in"], PIECES, lambda t: self.receive(t, worker, server))

    def receive(self, time, worker, server):
        received = worker["cpu"].use(time, self.shard * self.costs["byte_ns"])
        self.at(received, lambda t: self.send(t, worker["out"], server["in"], PIECES, lambda t: self.add(t, server)))

    def add(self, time, server):
        self.at(server["cpu"].use(time, self.shard * self.costs["byte_ns"]), lambda t: None)

    def send(self, time, out, into, pieces, then):
        """A piece, and when it has left the next one; `then` when the last has arrived."""

        def left(t):
            self.at(into.use(t, self.piece_ns), then if pieces == 1 else lambda t: None)
            if pieces > 1:
                self.send(t, out, into, pieces - 1, then)

        self.at(out.use(time, self.piece_ns), left)


def step_ms(workers, servers, size, costs, gigabits):
    return Simulation(workers, servers, size, costs, gigabits / 8).run() / 1e6


def best_ms(program, workloads, seconds):
    """The best step of each workload, by `weir bench --serve`."""
    out = {}
    with subprocess.Popen([program, "bench", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def ask(*words):
            child.stdin.write(" ".join(map(str, words)) + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
            if "error" in answer:
                raise RuntimeError(f"{words}: {answer['error']}")
            return answer

        child.stdout.readline()  # its version
        for workload in workloads:
            handle = ask("prepare", workload, "plain")["id"]
            out[workload] = min(ask("measure", handle, seconds)["ms"])
        child.stdin.close()
    return out


def measure(program, seconds):
    one, four, dense = "null_step_scalar_1x1", "null_step_scalar_1x4", "null_step_dense_1x1"
    ms = best_ms(program, (one, four, dense), seconds)
    message = max(0.0, (ms[four] - ms[one]) / 3) * 1e6
    return {
        "step_ns": max(0.0, ms[one] * 1e6 - message),
        "message_ns": message,
        "byte_ns": (ms[dense] - ms[one]) * 1e6 / 200e6,  # there and back
    }


def draw(path, curves, paper):
    """Lines over the number of workers, both axes logarithmic; the paper's ends as circles."""
    import math

    left, top, width, height = 70, 20, 560, 330
    low, high = 0.0, 4.0  # powers of ten of milliseconds
    x = lambda workers: left + width * math.log10(workers) / 2
    y = lambda ms: top + height * (1 - (math.log10(ms) - low) / (high - low))
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="760" height="410" viewBox="0 0 760 410">',
           "<style>text{font:12px sans-serif} .g{stroke:#ddd} .m{fill:none;stroke-width:2}</style>",
           '<rect width="100%" height="100%" fill="#fff"/>']
    for power in range(5):
        out.append(f'<line class="g" x1="{left}" x2="{left + width}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}"/>'
                   f'<text x="{left - 8}" y="{y(10**power) + 4:.1f}" text-anchor="end">{10**power} ms</text>')
    for workers in WORKERS:
        out.append(f'<line class="g" x1="{x(workers):.1f}" x2="{x(workers):.1f}" y1="{top}" y2="{top + height}"/>'
                   f'<text x="{x(workers):.1f}" y="{top + height + 18}" text-anchor="middle">{workers}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">workers, 16 parameter servers'
               "</text>")
    for (name, curve), colour in zip(curves.items(), ("#2b6cb0", "#c05621", "#2f855a")):
        points = " ".join(f"{x(w):.1f},{y(ms):.1f}" for w, ms in curve.items())
        out.append(f'<polyline class="m" stroke="{colour}" points="{points}"/>')
        out.append(f'<text x="{left + width + 10}" y="{y(curve[100]) + 4:.1f}" fill="{colour}">{name}</text>')
        for workers, ms in zip((1, 100), paper[name][1:]):
            out.append(f'<circle cx="{x(workers):.1f}" cy="{y(ms):.1f}" r="5" fill="none" stroke="{colour}"/>')
    out.append(f'<text x="{left + 10}" y="{top + 16}">lines: weir, modelled; circles: the paper, measured</text></svg>')
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", help="the program; measures the costs anew")
    parser.add_argument("--seconds", type=float, default=3, help="to measure each of three workloads for")
    parser.add_argument("--gigabits", type=float, default=10, help="bandwidth of every network interface")
    parser.add_argument("--servers", type=int, default=16)
    parser.add_argument("--svg", help="draw the curves into this file")
    flags = parser.parse_args()
    costs = measure(flags.weir, flags.seconds) if flags.weir else MEASURED
    print(", ".join(f"{name} {value:.4g}" for name, value in costs.items()))
    print("| step | " + " | ".join(f"{w} workers" for w in WORKERS) + " | the paper, 1 and 100 |")
    print("|---|" + "---|" * (len(WORKERS) + 1))
    curves = {}
    for name, (size, first, last) in PAPER.items():
        curves[name] = {w: step_ms(w, flags.servers, size, costs, flags.gigabits) for w in WORKERS}
        print(f"| {name} | " + " | ".join(f"{ms:.4g} ms" for ms in curves[name].values()) + f" | {first:g}, {last:g} ms |")
    if flags.svg:
        draw(flags.svg, curves, PAPER)


if __name__ == "__main__":
    main()
