#!/usr/bin/env python3
"""Models synchronous training on 8 to 10,000 workers with rings, hierarchical all-reduce and parameter servers.

    python3 benchmarks/allreduce_model.py                                    model with the costs below
    python3 benchmarks/allreduce_model.py --weir build/release/bin/weir      measure the costs on this machine first
    python3 benchmarks/allreduce_model.py --svg docs/images/allreduce_model.svg

A step computes for a time that one worker alone needs, and exchanges S bytes of gradients meanwhile; what the exchange
takes beyond the backward pass (two thirds of the computation) is waited for. With N workers on H hosts of L each, a
message's latency a, b seconds a byte on the network (per host and direction), h seconds a byte of a host's own work for
data from the network (copies and additions), and m seconds a byte for a sum in shared memory:

  ring           2 (N - 1) a + 2 (N - 1) / N S (b + h)         every worker is a member; neighbours share a host, so
                                                                that an interface carries one link of the ring
  hierarchical   2 log2(H) a + 2 (H - 1) / H S (b + h / L) + S m
                                                                shared memory inside a host; then halving and doubling,
                                                                L ranks of a host at a time, each with its part of S
  parameter      2 a N / L + 2 S max(b L, N b / P, N h / P)    P servers, one on each host, each with S / P; all
  servers                                                       workers fetch and push

What is measured here: a and h from all-reduces of two processes over TCP's loopback, m from two over shared memory
(which share this machine's two cores with each other). The network is an assumption.
"""

import argparse
import json
import math
import os
import re
import socket
import subprocess

WORKERS = (8, 16, 32, 64, 128, 256, 512, 1000, 2000, 5000, 10000)
# Measured; seconds. `--weir` measures anew.
MEASURED = {"latency": 18e-6, "host_byte": 1.03e-9, "memory_byte": 0.13e-9}
# Bytes of float gradients; a step of 64 images alone, at the rates that TensorFlow's benchmarks of 2017 give for a Pascal
# GPU (ResNet-101: between those of 50 and 152 layers); and the efficiency that Horovod's paper (Sergeev and Del Balso
# 2018) reports for 128 of them on 25 Gb/s Ethernet.
MODELS = {
    "Inception-v3": {"bytes": 95e6, "step": 64 / 142.0, "paper": 0.90},
    "ResNet-101": {"bytes": 178e6, "step": 64 / 130.0, "paper": 0.90},
    "VGG-16": {"bytes": 553e6, "step": 64 / 154.0, "paper": 0.68},
}
BACKWARD = 2 / 3


def exchange(way, workers, size, costs, network, per_host):
    """Seconds of one exchange of all gradients."""
    latency, host_byte, memory_byte = costs["latency"], costs["host_byte"], costs["memory_byte"]
    byte = 8 / (network * 1e9)
    hosts = max(1, math.ceil(workers / per_host))
    local = min(per_host, workers)
    if way == "ring":
        traffic = 2 * (workers - 1) / workers * size
        return 2 * (workers - 1) * latency + traffic * (byte * (1 if hosts > 1 else 0) + host_byte)
    if way == "hierarchical":
        traffic = 2 * (hosts - 1) / hosts * size
        return 2 * math.log2(max(hosts, 1)) * latency + traffic * (byte + host_byte / local) + size * memory_byte
    servers = hosts  # one beside the workers of each host
    fan_in = workers / servers
    return 2 * latency * fan_in * servers / per_host + 2 * size * max(byte * local, fan_in * byte, fan_in * host_byte)


def efficiency(way, workers, model, costs, network, per_host):
    step = model["step"]
    waits = max(0.0, exchange(way, workers, model["bytes"], costs, network, per_host) - BACKWARD * step)
    return step / (step + waits)


def measure(program, seconds):
    def ranks(hosts, sizes):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        processes = []
        for rank in range(2):
            variables = {"WEIR_RANK": rank, "WEIR_SIZE": 2, "WEIR_LOCAL_RANK": 0 if hosts == 2 else rank,
                         "WEIR_LOCAL_SIZE": 2 // hosts, "WEIR_HOST": f"host{rank if hosts == 2 else 0}",
                         "WEIR_JOB": f"allreduce_model_{os.getpid()}_{hosts}", "WEIR_ADDRESS": address,
                         "WEIR_SECRET": "model"}
            environment = dict(os.environ, **{name: str(value) for name, value in variables.items()})
            processes.append(subprocess.Popen([program, "bench", "allreduce", "--seconds", str(seconds), "--bytes",
                                               ",".join(map(str, sizes))], stdout=subprocess.PIPE, text=True,
                                              env=environment))
        texts = [process.communicate()[0] for process in processes]
        found = json.loads(re.search(r"\{.*\}", texts[0])[0])
        return {int(size): times[0] for size, times in found.items()}

    network, memory = ranks(2, (4, 100_000_000)), ranks(1, (4, 4_194_304))
    return {"latency": network[4], "host_byte": (network[100_000_000] - network[4]) / 100e6,
            "memory_byte": (memory[4_194_304] - memory[4]) / 4_194_304}


def draw(path, curves):
    """Efficiency over the number of workers, for each way."""
    left, top, width, height = 60, 20, 560, 300
    x = lambda workers: left + width * (math.log10(workers) - math.log10(8)) / (4 - math.log10(8))
    y = lambda value: top + height * (1 - value)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="780" height="380" viewBox="0 0 780 380">',
           "<style>text{font:12px sans-serif} .g{stroke:#ddd} .m{fill:none;stroke-width:2}</style>",
           '<rect width="100%" height="100%" fill="#fff"/>']
    for percent in range(0, 101, 20):
        out.append(f'<line class="g" x1="{left}" x2="{left + width}" y1="{y(percent / 100):.1f}" y2="{y(percent / 100):.1f}"/>'
                   f'<text x="{left - 8}" y="{y(percent / 100) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for workers in (8, 32, 128, 512, 2000, 10000):
        out.append(f'<text x="{x(workers):.1f}" y="{top + height + 18}" text-anchor="middle">{workers}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">workers</text>')
    for i, ((name, curve), colour) in enumerate(zip(curves.items(), ("#2b6cb0", "#c05621", "#2f855a"))):
        points = " ".join(f"{x(w):.1f},{y(value):.1f}" for w, value in curve.items())
        out.append(f'<polyline class="m" stroke="{colour}" points="{points}"/>')
        out.append(f'<text x="{left + width + 10}" y="{top + 20 + 20 * i}" fill="{colour}">{name}</text>')
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", help="the program; measures the costs anew")
    parser.add_argument("--seconds", type=float, default=3, help="to measure each size for")
    parser.add_argument("--gigabits", type=float, default=25, help="bandwidth of every host's network interface")
    parser.add_argument("--per_host", type=int, default=4, help="workers on a host")
    parser.add_argument("--svg", help="draw the curves of ResNet-101 into this file")
    flags = parser.parse_args()
    costs = measure(flags.weir, flags.seconds) if flags.weir else MEASURED
    print(", ".join(f"{name} {value:.3g}" for name, value in costs.items()))
    print("| model, way | " + " | ".join(map(str, WORKERS)) + " |")
    print("|---|" + "---|" * len(WORKERS))
    for name, model in MODELS.items():
        curves = {}
        for way in ("ring", "hierarchical", "parameter servers"):
            curves[way] = {w: efficiency(way, w, model, costs, flags.gigabits, flags.per_host) for w in WORKERS}
            print(f"| {name}, {way} | " + " | ".join(f"{100 * value:.0f} %" for value in curves[way].values()) + " |")
        if flags.svg and name == "ResNet-101":
            draw(flags.svg, curves)


if __name__ == "__main__":
    main()
