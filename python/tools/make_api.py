#!/usr/bin/env python3
"""Writes python/weir/_api.py: where each public name lives. Needs TensorFlow, whose names it walks over.

    python python/tools/make_api.py [--missing]

A public name is looked for in the modules of its namespace, in order; a name that TensorFlow generates from an op's
definition is that op. Names of the core (`tf.Tensor`, `tf.function`) are listed in CORE. `--missing` prints what
TensorFlow has and this package has not.
"""

import ast
import inspect
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "weir")
MODULES = {
    "": ["ops.array", "ops.math", "ops.control_flow", "ops.dtypes", "ops.linalg", "ops.tensor_array", "ops.sparse",
         "ops.ragged", "ops.indexed_slices", "debugging", "ops.logging", "ops.initializers", "ops.critical_section"],
    "math": ["ops.math", "ops.nn", "ops.array"],
    "math.special": ["ops.math"],
    "nn": ["ops.nn", "ops.conv", "ops.math", "ops.array", "ops.ctc"],
    "nn.experimental": ["ops.nn"],
    "linalg": ["ops.linalg", "ops.array", "ops.math"],
    "linalg.experimental": ["ops.linalg"],
    "signal": ["ops.signal"],
    "random": ["ops.random", "ops.nn"],
    "random.experimental": ["ops.random"],
    "strings": ["ops.strings"],
    "sparse": ["ops.sparse"],
    "ragged": ["ops.ragged", "ops.ragged_arrays"],
    "image": ["ops.image", "io.image"],
    "audio": ["ops.audio"],
    "bitwise": [],
    "quantization": ["ops.quantization"],
    "sets": ["ops.sets"],
    "lookup": ["ops.lookup"],
    "lookup.experimental": ["ops.lookup"],
    "dtypes": ["ops.dtypes"],
    "io": ["io.parsing", "io.records", "io.image", "ops.strings", "ops.sparse"],
    "io.gfile": ["io.gfile"],
    "nest": ["nest"],
    "autograph": ["autograph"],
    "autograph.experimental": ["autograph"],
    "debugging": ["debugging"],
    "data": ["data.dataset", "data.readers", "data.options", "data.iterator"],
    "data.experimental": ["data.experimental", "data.options", "data.dataset", "data.readers"],
    "summary": ["summary"],
    "summary.experimental": ["summary"],
    "experimental": ["data.optional"],
    "version": ["version"],
    "sysconfig": ["sysconfig"],
    "test": ["test"],
    "initializers": ["ops.initializers"],
}
UNKNOWN_OPS = {"CheckPinned"}  # that the engine's tables lack
CLASSES_ONLY = {"ops.sparse", "ops.ragged"}  # their functions are public in namespaces of their own only
CORE = ("DType Tensor TensorShape TensorSpec TypeSpec Variable Module GradientTape Graph Operation as_dtype constant "
        "control_dependencies convert_to_tensor custom_gradient device executing_eagerly function get_static_value "
        "init_scope inside_function is_tensor name_scope numpy_function py_function errors raw_ops "
        "type_spec_from_value").split()


def defined(path):
    """The public names that a module's source defines at its top level."""
    full = os.path.join(ROOT, path.replace(".", "/"))
    full = os.path.join(full, "__init__.py") if os.path.isdir(full) else full + ".py"
    if not os.path.exists(full):
        return set()
    names = set()
    for node in ast.parse(open(full).read()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for leaf in ast.walk(target):
                    if isinstance(leaf, ast.Name):
                        names.add(leaf.id)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("weir"):
            names.update(alias.asname or alias.name for alias in node.names)
    return {n for n in names if not n.startswith("_")}


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    ops_by_key = {name.lower(): name for name in dir(tf.raw_ops) if name[0].isupper()}
    known = {path: defined(path) for paths in MODULES.values() for path in paths}
    table, missing = {}, []
    for namespace, paths in MODULES.items():
        module = tf
        try:
            for part in namespace.split("."):
                module = getattr(module, part) if part else module
        except AttributeError:
            missing.append(namespace)
            continue
        for name in sorted(dir(module)):
            if name.startswith("_"):
                continue
            value = getattr(module, name)
            if inspect.ismodule(value) or isinstance(value, tf.DType):
                continue
            public = f"{namespace}.{name}" if namespace else name
            if not namespace and name in CORE:
                continue
            home = next((path for path in paths if name in known[path] and not (
                not namespace and path in CLASSES_ONLY and not name[0].isupper())), None)
            if home is not None:
                table[public] = ("weir." + home, name)
                continue
            function = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else None
            if function is not None and ".gen_" in getattr(function, "__module__", ""):
                op = ops_by_key.get(function.__name__.replace("_", "").lower())
                if op is not None and op not in UNKNOWN_OPS:
                    table[public] = ("weir.ops.generated", op)
                    continue
            missing.append(public)
    if "--missing" in sys.argv:
        print("\n".join(missing))
    with open(os.path.join(ROOT, "_api.py"), "w") as out:
        out.write('"""Where each public name lives: {name: (module, attribute)}. Written by tools/make_api.py."""\n\n'
                  "TABLE = {\n")
        for public, (path, attribute) in sorted(table.items()):
            out.write(f'    "{public}": ("{path}", "{attribute}"),\n')
        out.write("}\n")
    print(f"{len(table)} names, {len(missing)} of TensorFlow's missing", file=sys.stderr)


if __name__ == "__main__":
    main()
