"""tf.compat.v1.profiler.profile: float operations and parameters of a graph, by name scope or by kind of op.

Times and bytes of runs, and the views `code` and `graph`, are not there: `graph` gives what `scope` does.
"""

import copy
import math
import re
import sys

from weir.compat.v1 import flops
from weir.framework import get_default_graph
from weir.framework.graph import GraphKeys

__all__ = ["GraphNodeProto", "MultiGraphNodeProto", "ProfileOptionBuilder", "Profiler", "advise", "profile"]

TRAINABLE_VARIABLES = "_trainable_variables"
_ROOT = "_TFProfRoot"
_DEFAULTS = {
    "max_depth": 100, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0, "min_occurrence": 0,
    "order_by": "name", "account_type_regexes": [".*"], "start_name_regexes": [".*"], "trim_name_regexes": [],
    "show_name_regexes": [".*"], "hide_name_regexes": [], "account_displayed_op_only": False, "select": ["micros"],
    "step": -1, "output": "stdout"}


def _options(**changed):
    return {**copy.deepcopy(_DEFAULTS), "max_depth": 10000, "account_displayed_op_only": True, **changed}


class ProfileOptionBuilder:
    """Makes the dict of options of `profile`."""

    def __init__(self, options=None):
        self._options = copy.deepcopy(_DEFAULTS if options is None else options)

    @staticmethod
    def trainable_variables_parameter():
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation():
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(min_micros=1, min_bytes=1, min_accelerator_micros=0, min_cpu_micros=0, min_peak_bytes=0,
                        min_residual_bytes=0, min_output_bytes=0):
        return _options(min_micros=min_micros, min_bytes=min_bytes, min_accelerator_micros=min_accelerator_micros,
                        min_cpu_micros=min_cpu_micros, min_peak_bytes=min_peak_bytes, min_output_bytes=min_output_bytes,
                        min_residual_bytes=min_residual_bytes, order_by="micros", select=["micros", "bytes"])

    def build(self):
        return copy.deepcopy(self._options)

    def _with(self, **options):
        self._options.update(copy.copy(options))
        return self

    def with_max_depth(self, max_depth):
        return self._with(max_depth=max_depth)

    def with_min_memory(self, min_bytes=0, min_peak_bytes=0, min_residual_bytes=0, min_output_bytes=0):
        return self._with(min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
                          min_output_bytes=min_output_bytes)

    def with_min_execution_time(self, min_micros=0, min_accelerator_micros=0, min_cpu_micros=0):
        return self._with(min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
                          min_cpu_micros=min_cpu_micros)

    def with_min_parameters(self, min_params):
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence):
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops):
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes):
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(self, start_name_regexes=None, show_name_regexes=None, hide_name_regexes=None,
                        trim_name_regexes=None):
        given = {"start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes,
                 "hide_name_regexes": hide_name_regexes, "trim_name_regexes": trim_name_regexes}
        return self._with(**{name: copy.copy(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true):
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self):
        return self._with(output="none")

    def with_stdout_output(self):
        return self._with(output="stdout")

    def with_file_output(self, outfile):
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file):
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file):
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute):
        return self._with(order_by=attribute)

    def select(self, attributes):
        return self._with(select=copy.copy(attributes))

    def with_step(self, step):
        return self._with(step=step)


class _Node:
    def __init__(self, name):
        self.name = name
        self.float_ops = self.parameters = self.total_float_ops = self.total_parameters = 0
        self.total_definition_count = 0
        self.children = []

    def _lines(self, indent=""):
        out = [f'{indent}name: "{self.name}"'] if self.name else []
        for field in ("parameters", "float_ops", "total_parameters"):
            if getattr(self, field):
                out.append(f"{indent}{field}: {getattr(self, field)}")
        for child in self.children:
            out += [indent + "children {", *child._lines(indent + "  "), indent + "}"]
        for field in ("total_float_ops", "total_definition_count"):
            if getattr(self, field):
                out.append(f"{indent}{field}: {getattr(self, field)}")
        return out

    def __repr__(self):
        return "\n".join(self._lines()) + "\n"


class GraphNodeProto(_Node):
    """A scope or an op of the view by names."""

    def __init__(self, name):
        super().__init__(name)
        self.shape = None      # of a variable
        self.types = ()        # what account_type_regexes are matched with; empty for a scope
        self.inside = {}       # {name: node}
        self.accounted = False
        self.defined = 1

    def start(self):
        self.total_float_ops = self.float_ops if self.accounted else 0
        self.total_parameters = self.parameters if self.accounted else 0
        self.total_definition_count = self.defined

    def add(self, child):
        self.total_float_ops += child.total_float_ops
        self.total_parameters += child.total_parameters
        self.total_definition_count += child.total_definition_count


class MultiGraphNodeProto(_Node):
    """A kind of op of the view by ops."""


def _matches(regexes, text):
    return any(re.fullmatch(regex, text) for regex in regexes)


def _nodes(graph):
    trainable = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    out, unknown = [], 0
    for op in graph.get_operations():
        node = GraphNodeProto(op.name)
        node.types = (op.type, op.device) + ((TRAINABLE_VARIABLES,) if op.name in trainable else ())
        node.op_type = op.type
        try:
            node.float_ops = int(flops.flops_of(op) or 0)
        except ValueError:
            unknown += 1
        if op.type in ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "Placeholder"):
            shape = op.get_attr("shape")
            dims = shape.as_list() if hasattr(shape, "as_list") else [d.size for d in shape.dim]
            if dims is not None and all(d is not None and d >= 0 for d in dims):
                node.shape, node.parameters = dims, math.prod(dims)
        out.append(node)
    if unknown:
        sys.stderr.write(f"{unknown} ops no flops stats due to incomplete shapes.\n")
    return out


def _tree(nodes):
    root, known = GraphNodeProto(_ROOT), {}
    for node in nodes:
        known[node.name] = node

    def place(node):
        above, _, _ = node.name.rpartition("/")
        if not above:
            root.inside[node.name] = node
            return
        if above not in known:
            known[above] = GraphNodeProto(above)
            place(known[above])
        known[above].inside[node.name] = node

    for node in nodes:
        place(node)
    return root


def _account(node, options):
    """Which nodes below count, and their sums; whether any does."""
    node.accounted = any(_matches(options["account_type_regexes"], text) for text in node.types)
    node.children = [child for _, child in sorted(node.inside.items()) if _account(child, options)]
    node.start()
    for child in node.children:
        node.add(child)
    return node.accounted or bool(node.children)


def _is_shown(node, options, depth):
    if node.name == _ROOT:
        return True
    return (depth <= options["max_depth"] and node.float_ops >= options["min_float_ops"] and
            node.parameters >= options["min_params"] and _matches(options["show_name_regexes"], node.name) and
            not _matches(options["hide_name_regexes"], node.name))


def _ordered(nodes, order_by):
    keys = {"name": lambda n: n.name, "float_ops": lambda n: -n.total_float_ops, "params": lambda n: -n.total_parameters,
            "occurrence": lambda n: -n.total_definition_count}
    return sorted(nodes, key=keys.get(order_by, keys["name"]))


def _text(node, options):
    parts = []
    if "params" in options["select"]:
        own = _number(node.parameters) if node.accounted else "--"
        shape = "x".join(map(str, node.shape)) + ", " if node.shape and node.accounted else ""
        parts.append(f"{shape}{own}/{_number(node.total_parameters)} params")
    if "float_ops" in options["select"]:
        own = _number(node.float_ops) if node.accounted else "--"
        parts.append(f"{own}/{_number(node.total_float_ops)} flops")
    return f"{node.name} ({', '.join(parts)})"


def _show(node, options, depth, indent, lines):
    """The nodes that stand for `node` in what is shown; their lines, of a node before those of its children."""
    shown = _is_shown(node, options, depth)
    trimmed = _matches(options["trim_name_regexes"], node.name)
    inner, below = [], []
    for child in [] if trimmed else node.children:
        written = []
        for found in _show(child, options, depth + 1, indent + 2 if shown else indent, written):
            below.append((found, [entry for entry in written if entry[0] is found][0][1]))
    if not shown:
        lines.extend((found, text) for found, text in below)
        return [found for found, _ in below]
    if options["account_displayed_op_only"]:
        node.start()
        for found, _ in below:
            node.add(found)
    texts = dict((id(found), text) for found, text in below)
    node.children = _ordered([found for found, _ in below], options["order_by"])
    inner = [line for found in node.children for line in texts[id(found)]]
    lines.append((node, [" " * indent + _text(node, options)] + inner))
    return [node]


def _by_scope(graph, options):
    root = _tree(_nodes(graph))
    _account(root, options)
    lines = []
    _show(root, options, 1, 0, lines)
    return root, lines[0][1]


def _by_op(graph, options):
    groups = {}
    for node in _nodes(graph):
        if not any(_matches(options["account_type_regexes"], text) for text in node.types):
            continue
        group = groups.setdefault(node.op_type, MultiGraphNodeProto(node.op_type))
        group.float_ops += node.float_ops
        group.parameters += node.parameters
        group.total_definition_count += 1
    shown = [g for _, g in sorted(groups.items())
             if g.float_ops >= options["min_float_ops"] or options["order_by"] == "occurrence" or not options["min_float_ops"]]
    own = {"float_ops": lambda g: -g.float_ops, "params": lambda g: -g.parameters,
           "occurrence": lambda g: -g.total_definition_count}.get(options["order_by"], lambda g: g.name)
    shown = [g for g in sorted(shown, key=own) if _matches(options["show_name_regexes"], g.name) and
             not _matches(options["hide_name_regexes"], g.name) and g.parameters >= options["min_params"]]
    root = MultiGraphNodeProto(_ROOT)
    above = root
    for group in shown:
        above.children = [group]
        above = group
    flops_left = params_left = 0
    for group in reversed(shown):  # a total is of a kind and all after it
        flops_left += group.float_ops
        params_left += group.parameters
        group.total_float_ops, group.total_parameters = flops_left, params_left
    root.total_float_ops, root.total_parameters = flops_left, params_left
    lines = []
    for group in shown:
        parts = []
        for name, word, value, total, whole in (
                ("params", "params", group.parameters, group.total_parameters, params_left),
                ("float_ops", "float_ops", group.float_ops, group.total_float_ops, flops_left)):
            if name in options["select"]:
                share = [100.0 * v / whole if whole else 0.0 for v in (total, value)]
                parts.append(f"{_number(value)} {word} ({share[0]:.2f}%, {share[1]:.2f}%)".rjust(30))
        if "occurrence" in options["select"]:
            parts.append(f"0|{group.total_definition_count}".rjust(10))
        lines.append(group.name.ljust(25) + ", ".join(parts))
    return root, lines


def _number(value):
    for size, word in ((10 ** 9, "b"), (10 ** 6, "m"), (10 ** 3, "k")):
        if value >= size:
            return f"{value / size:.2f}{word}"
    return str(value)


_TITLES = (("params", "# parameters"), ("float_ops", "# float_ops"), ("occurrence", "op occurrence (run|defined)"))
_DOCS = {
    "scope": "scope: The nodes in the model graph are organized by their names, which is hierarchical like filesystem.",
    "op": "op: The nodes are operation kernel type, such as MatMul, Conv2D. Graph nodes belonging to the same type are "
          "aggregated together.",
    "float_ops": "flops: Number of float operations. Note: Please read the implementation for the math behind it.",
    "occurrence": "occurrence: The number of times it occurs",
    "params": "param: Number of parameters (in the Variable)."}


def _report(view, options, lines):
    selected = sorted(options["select"])
    shown = {"output": options["output"] + (":" if options["output"] == "stdout" else ""), "select": ",".join(selected),
             "account_displayed_op_only": str(bool(options["account_displayed_op_only"])).lower()}
    out = ["", "=========================Options============================="]
    for name in ("max_depth min_bytes min_peak_bytes min_residual_bytes min_output_bytes min_micros min_accelerator_micros "
                 "min_cpu_micros min_params min_float_ops min_occurrence step order_by account_type_regexes "
                 "start_name_regexes trim_name_regexes show_name_regexes hide_name_regexes account_displayed_op_only select "
                 "output").split():
        value = shown.get(name, options.get(name, 0))
        out.append(f"-{name}".ljust(28) + (",".join(value) if isinstance(value, list) else str(value)))
    out += ["", "==================Model Analysis Report======================", "", "Doc:", _DOCS[view]]
    out += [_DOCS[name] for name in selected if name in _DOCS]
    out += ["", "Profile:", " | ".join(["node name", *(title for name, title in _TITLES if name in selected)])]
    return "\n".join([*out, *lines, "", "======================End of Report==========================", ""])


def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=None):
    """Prints the profile of a graph, unless options say otherwise, and returns it."""
    del run_meta, op_log
    graph = get_default_graph() if graph is None else graph
    options = {**copy.deepcopy(_DEFAULTS), **(options or {})}
    if cmd not in ("scope", "graph", "op", "code"):
        raise ValueError(f"unknown cmd: {cmd}\n")
    if cmd == "code":
        raise NotImplementedError("profiles by lines of code: nodes do not remember where they were made")
    view = "op" if cmd == "op" else "scope"
    root, lines = (_by_op if view == "op" else _by_scope)(graph, options)
    kind, _, where = options["output"].partition(":outfile=")
    if kind == "stdout":
        print(_report(view, options, lines), end="", flush=True)
    elif kind == "file":
        with open(where, "w", encoding="utf-8") as file:
            file.write(_report(view, options, lines))
    return root


def advise(graph=None, run_meta=None, options=None):
    """TensorFlow looks for slow operations of a run here; there is nothing to tell."""
    del graph, run_meta, options


class Profiler:
    """Profiles of one graph."""

    def __init__(self, graph=None, op_log=None):
        del op_log
        self._graph = get_default_graph() if graph is None else graph

    def add_step(self, step, run_meta):
        """What a run took is not kept."""

    def profile_name_scope(self, options):
        return profile(self._graph, cmd="scope", options=options)

    def profile_graph(self, options):
        return profile(self._graph, cmd="graph", options=options)

    def profile_operations(self, options):
        return profile(self._graph, cmd="op", options=options)
