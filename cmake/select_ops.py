#!/usr/bin/env python3
"""select_ops.py SOURCE_DIR OUTPUT_DIR ITEM...: what a build for given models consists of.

An item is a folder with a SavedModel or the name of an op. Written into OUTPUT_DIR:
  ops.ops           the schemas of all ops that the models' graphs mention
  register.cc       RegisterBuiltinKernels and RegisterBuiltinShapeFunctions, which name only the groups that are needed
  selection.cmake   the sources with kernels and shape functions and those of weir/io that they and the reading of models
                    need, the wire formats of these, and the element types as a mask

Kernels are those that the models' signatures, restoring and initialisation lead to, and what rewrites make of them.
Which registration function has which kernels says weir/ops/kernel_groups.txt, which a test keeps true.
"""
import collections
import os
import pathlib
import re
import sys

# Needed whatever the model is: nodes that every compiled step has, and those that rewrites put in.
ALWAYS = ["Const", "NoOp", "Identity", "Placeholder", "_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv",
          "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger", "Mul", "AddV2",
          "_FusedElementwise"]
# An op of the model: ops that rewrites and lowering may use in its place.
IMPLIED = {
    "Conv2D": ["_FusedConv2D", "_FusedMatMul"],
    "MatMul": ["_FusedMatMul"],
    "FusedBatchNorm": ["_FusedBatchNormEx"],
    "FusedBatchNormV2": ["_FusedBatchNormEx"],
    "FusedBatchNormV3": ["_FusedBatchNormEx"],
    "BatchMatMul": ["_BatchMatMulOfViews"],
    "BatchMatMulV2": ["_BatchMatMulOfViews"],
    "If": ["ToBool"], "StatelessIf": ["ToBool"], "Case": ["Equal"], "StatelessCase": ["Equal"],
    "While": ["ToBool"], "StatelessWhile": ["ToBool"],
}
# Types of sizes, conditions, paths and state, and the one that nearly every model computes with.
FLOAT, INT32, STRING, INT64, BOOL, RESOURCE, VARIANT = 1, 3, 7, 9, 10, 20, 21
ALWAYS_TYPES = {FLOAT, INT32, STRING, INT64, BOOL, RESOURCE, VARIANT}


def fields(data):
    """(number, value) of each field of a message; a value is an int or bytes."""
    at, end = 0, len(data)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < end:
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        elif kind == 2:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[kind]
            yield tag >> 3, data[at:at + size]
            at += size


def all_of(data, number):
    return [value for key, value in fields(data) if key == number]


def first(data, number, default=b""):
    return next((value for key, value in fields(data) if key == number), default)


def text(data, number):
    return first(data, number).decode()


def entries(data, number):
    """A map field."""
    return {text(entry, 1): first(entry, 2) for entry in all_of(data, number)}


class Node:
    def __init__(self, data):
        self.name, self.op = text(data, 1), text(data, 2)
        self.inputs = [re.sub(r"^\^|:.*$", "", value.decode()) for value in all_of(data, 3)]
        self.types, self.functions = set(), set()
        for value in entries(data, 5).values():
            self.read_attr(value)

    def read_attr(self, value):
        for number, part in fields(value):
            if number == 1:
                self.read_attr(part)
            elif number == 6:
                self.types.update(read_types(part))
            elif number == 8 and isinstance(part, bytes):
                self.types.update(read_types(first(part, 1, 0)))
            elif number in (9, 10) and isinstance(part, bytes):
                name = first(part, 1)
                if isinstance(name, bytes) and name:
                    self.functions.add(name.decode("utf-8", "replace"))


def read_types(value):
    """One type, or a packed list of types."""
    if isinstance(value, int):
        return {value % 100} if value else set()
    found, current, shift = set(), 0, 0
    for byte in value:
        current |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.add(current % 100)
            current = shift = 0
    return found


class Needs:
    def __init__(self):
        self.known = set()   # ops that a graph mentions: they need schemas
        self.run = set()     # ops that may run: they need kernels
        self.types = set(ALWAYS_TYPES)

    def add_model(self, folder):
        path = pathlib.Path(folder, "saved_model.pb")
        for meta in all_of(path.read_bytes(), 2):
            self.add_meta_graph(meta)

    def add_meta_graph(self, meta):
        graph = first(meta, 2)
        nodes = {node.name: node for node in map(Node, all_of(graph, 1))}
        functions = {}
        for function in all_of(first(graph, 2), 1):
            signature = first(function, 1)
            functions[text(signature, 1)] = (list(map(Node, all_of(function, 3))),
                                             {first(arg, 3, 0) for number in (2, 3) for arg in all_of(signature, number)})
        self.known.update(node.op for node in nodes.values())
        for body, _ in functions.values():
            self.known.update(node.op for node in body)
        self.known -= functions.keys()

        pending = [text(first(meta, 3), 3)]  # what restores the variables
        for signature in entries(meta, 5).values():
            pending += [text(tensor, 1) for number in (1, 2) for tensor in entries(signature, number).values()]
        for name, collection in entries(meta, 4).items():
            if name in ("saved_model_main_op", "legacy_init_op"):
                pending += [value.decode() for value in all_of(first(collection, 1), 1)]
        seen, called = set(), set()
        while pending:
            name = pending.pop().split(":")[0]
            if name in seen or name not in nodes:
                continue
            seen.add(name)
            pending += nodes[name].inputs
            self.add_node(nodes[name], functions, called)

    def add_node(self, node, functions, called):
        self.types |= node.types
        if node.op not in functions:
            self.run.add(node.op)
        for name in (node.functions | {node.op}) & functions.keys() - called:
            called.add(name)
            body, types = functions[name]
            self.types |= {value % 100 for value in types if value}
            for inner in body:
                self.add_node(inner, functions, called)


def read_tables(source):
    """Op -> (the table's text for it, its shape function), and the types that tables name."""
    ops = {}
    for path in sorted(source.glob("weir/ops/*/*.ops")):
        blocks = re.split(r"(?m)^(?=op )", path.read_text())
        for block in blocks[1:]:
            name = re.match(r"op (\w+)", block).group(1)
            shape = re.search(r"(?m)^  shape (\S+)", block)
            # Documentation has no use on a device.
            lines = [line for line in block.rstrip().splitlines() if not line.startswith("  doc ")]
            ops[name] = (path.stem, blocks[0], "\n".join(lines), shape.group(1) if shape else None)
    return ops


def definitions(source, argument):
    """Registration function -> the source that defines it."""
    found = {}
    for path in sorted(source.glob("weir/ops/*/*.cc")):
        for name in re.findall(rf"(?m)^void (Register\w+)\({argument}& registry\) {{", path.read_text()):
            found[name] = path
    return found


def choose_groups(source, wanted):
    """The smallest registration function with a kernel for each op, and those that it calls."""
    groups = [line.split() for line in (source / "weir/ops/kernel_groups.txt").read_text().splitlines()]
    by_op = collections.defaultdict(list)
    for name, *ops in groups:
        for op in ops:
            by_op[op].append((len(ops), name))
    return {min(by_op[op])[1] for op in wanted if op in by_op}


def family_headers(source, path, seen=None):
    """The headers of its own family that a file includes, and those that they include."""
    seen = set() if seen is None else seen
    for name in re.findall(r'#include "(weir/ops/\w+/[^"]+)"', path.read_text()):
        header = source / name
        if header.parent == path.parent and header not in seen and not header.name.startswith("register"):
            seen.add(header)
            family_headers(source, header, seen)
    return seen


def sources_of(source, groups, where):
    """The files of these groups, of groups that they call, and files without kernels that define what they use."""
    files, pending = set(), [where[group] for group in groups]
    registering = set(where.values())
    while pending:
        path = pending.pop()
        if path in files:
            continue
        files.add(path)
        content = path.read_text()
        pending += [where[name] for name in re.findall(r"(?m)^  (Register\w+)\(registry\);", content) if name in where]
        headers = family_headers(source, path)
        for shared in path.parent.glob("*.cc"):
            if re.search(r"_(test|shapes|grad|fuzz)\.cc$", shared.name) or shared in registering:
                continue
            if family_headers(source, shared) & headers:
                pending.append(shared)
    return sorted(files)


# What reading a SavedModel needs of weir/io, and libraries that such a build does not link.
IO_FILES = ["checkpoint_reader", "checkpoint_v1_reader", "bundle_reader", "local_file_system", "memory_file_system",
            "saved_model", "absent/proto_text"]
FOREIGN = re.compile(r'#include [<"](re2/|zlib\.h|png\.h|jpeglib\.h|gif_lib\.h|webp/|Eigen/|weir/collective/|weir/io/image_codec)')


def io_sources(source, files):
    """The files of weir/io that these and each other include, and the wire formats that all of them use."""
    found, protos = set(), set()
    pending = [source / "weir/io" / (name + ".cc") for name in IO_FILES] + list(files)
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        content = path.read_text()
        protos.update(re.findall(r'#include "weir/proto/(\w+)\.pb\.h"', content))
        for name in re.findall(r'#include "weir/io/(\w+?)(?:_internal)?\.h"', content):
            pending += [each for each in (source / f"weir/io/{name}.cc", source / f"weir/io/{name}.h") if each.exists()]
    for path in sorted(found):
        foreign = FOREIGN.search(path.read_text())
        if foreign:
            sys.exit(f"these models need {path.relative_to(source)}, which uses {foreign.group(1)}: that is not linked into "
                     "a library for devices")
    return sorted(path for path in found - set(files) if path.suffix == ".cc"), sorted(protos)


def main():
    source, output, *items = sys.argv[1:]
    source, output = pathlib.Path(source), pathlib.Path(output)
    needs = Needs()
    tables = read_tables(source)
    for item in items:
        if os.path.isfile(os.path.join(item, "saved_model.pb")):
            needs.add_model(item)
        elif item in tables:
            needs.known.add(item)
            needs.run.add(item)
        else:
            sys.exit(f"'{item}' is neither a folder with a saved_model.pb nor the name of an op")
    needs.run.update(ALWAYS)
    for op in list(needs.run):
        needs.run.update(IMPLIED.get(op, ()))
    needs.known |= needs.run
    unknown = sorted(needs.known - tables.keys())
    if unknown:
        sys.exit("weir does not have these ops of the models: " + " ".join(unknown))

    families = collections.defaultdict(list)
    for op in sorted(needs.known):
        families[tables[op][0]].append(op)
    lists = []
    for family, ops in sorted(families.items()):
        path = output / (family + ".ops")
        path.write_text(tables[ops[0]][1] + "\n".join(tables[op][2] + "\n" for op in ops))
        lists.append(path)

    kernels = definitions(source, "KernelRegistry")
    groups = sorted(choose_groups(source, needs.run))
    shapes = definitions(source, "OpRegistry")
    wanted = {tables[op][3] for op in needs.known}
    shape_groups = set()
    for name, path in shapes.items():
        if set(re.findall(r'"([a-z_0-9]+)"', path.read_text())) & wanted:
            shape_groups.add(name)
    lines = ["namespace weir {", "", "class KernelRegistry;", "class OpRegistry;", ""]
    lines += [f"void {name}(KernelRegistry& registry);" for name in groups]
    lines += [f"void {name}(OpRegistry& registry);" for name in sorted(shape_groups)]
    lines += ["", "void RegisterBuiltinKernels(KernelRegistry& registry) {"]
    lines += [f"  {name}(registry);" for name in groups]
    lines += ["}", "", "void RegisterBuiltinShapeFunctions(OpRegistry& registry) {"]
    lines += [f"  {name}(registry);" for name in sorted(shape_groups)]
    lines += ["}", "", "}  // namespace weir", ""]
    (output / "register.cc").write_text("\n".join(lines))

    files = sources_of(source, groups, kernels) + sorted({shapes[name] for name in shape_groups})
    io, protos = io_sources(source, files)
    mask = sum(1 << number for number in needs.types if 0 < number < 64)
    (output / "selection.cmake").write_text(
        "set(selected_tables %s)\nset(selected_sources\n  %s)\nset(selected_io\n  %s)\nset(selected_protos %s)\n"
        "set(selected_types 0x%xull)\n" %
        (" ".join(map(str, lists)), "\n  ".join(map(str, files)), "\n  ".join(map(str, io)), " ".join(protos), mask))
    print(f"{len(needs.run)} ops run, {len(groups)} groups of kernels, {len(files)} files, types {sorted(needs.types)}")


if __name__ == "__main__":
    main()
