"""Two builds of weir by turns: what a change costs or saves.

    python3 benchmarks/builds.py --before OLD/bin/weir --after NEW/bin/weir [--sections engine train infer ops cluster]

Every section of `weir bench` runs with both programs in each round, in changing order, and the least time of each row
counts. Rows that only one of the two has are left out. The table ends with the rows above the goal; those are measured
again, by themselves, before they are believed.
"""
import argparse
import collections
import re
import subprocess
import sys


def run(weir, section, seconds, filter_):
    """The rows of one section: name -> time."""
    command = [weir, "bench", section, "--seconds", str(seconds)]
    if filter_:
        command += ["--filter", filter_]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    rows = {}
    for line in done.stdout.splitlines():
        found = re.match(r"(\S+)\s+(\d+\.?\d*)(?:\s|$)", line)
        if found and float(found[2]) > 0:
            rows[found[1]] = float(found[2])
        for key, value in re.findall(r'"(\w+_ms|\w+_s|\w+_per_node)": ([\d.]+)', line):
            rows[f"{line.split()[0]}.{key}"] = float(value)
    return rows


def measure(options, section, rounds, filter_, best):
    for turn in range(rounds):
        programs = [("before", options.before), ("after", options.after)]
        for name, weir in programs[:: -1 if turn % 2 else 1]:
            for row, value in run(weir, section, options.seconds, filter_).items():
                best[row][name] = min(value, best[row].get(name, value))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="the program built before the change")
    parser.add_argument("--after", required=True, help="the program built after it")
    parser.add_argument("--sections", nargs="+", default=["engine", "train", "infer", "ops", "cluster"])
    parser.add_argument("--filter", default="", help="train, infer, ops: only rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each row, program and round")
    parser.add_argument("--goal", type=float, default=1.05, help="the largest ratio that is good enough")
    options = parser.parse_args()
    worse = []
    for section in options.sections:
        best = collections.defaultdict(dict)
        measure(options, section, options.rounds, options.filter, best)
        both = {row: times for row, times in best.items() if len(times) == 2}
        # Noise only adds time: what looks slower gets more chances. Sections without a filter run whole again.
        for _ in range(2):
            late = [row for row, times in both.items() if times["after"] > options.goal * times["before"]]
            for row in late if section in ("train", "infer", "ops") else ([""] if late else []):
                measure(options, section, options.rounds, row, best)
        print(f"\n{section}")
        for row, times in both.items():
            ratio = times["after"] / times["before"]
            print(f"  {row:<44} {times['before']:>12.4f} {times['after']:>12.4f} {ratio:>7.3f}", flush=True)
            if ratio > options.goal:
                worse.append(f"{section} {row} {ratio:.3f}")
    print(f"\n{len(worse)} rows above {options.goal}:", *worse, sep="\n  ")


if __name__ == "__main__":
    main()
