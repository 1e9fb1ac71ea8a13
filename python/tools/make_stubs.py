#!/usr/bin/env python3
"""Writes the package's stubs for editors and type checkers: python make_stubs.py FOLDER, with weir importable.

FOLDER/weir-stubs is a stub package (PEP 561), so that nothing of it is seen when a program runs: raw_ops.pyi has a
function for each op of the tables, __init__.pyi and a stub for each public namespace (tf.math, tf.nn, ...) the public
names with their parameters. The target weir_python_stubs writes them beside the extension.
"""

import functools
import inspect
import keyword
import os
import sys
import types

HEADER = '"""{doc}"""\n\nfrom typing import Any\n\n'


def _default(value):
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else "..."
    return "..."


def _parameters(signature, is_class=False):
    """The text of a parameter list, without annotations that stubs could not import."""
    words, seen_star = ["self"] if is_class else [], False
    for parameter in signature.parameters.values():
        if is_class and parameter.name == "self":
            continue
        if not parameter.name.isidentifier() or keyword.iskeyword(parameter.name):
            return "*args: Any, **kwargs: Any" if not is_class else "self, *args: Any, **kwargs: Any"
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            words.append("*")
            seen_star = True
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        seen_star = seen_star or prefix == "*"
        text = f"{prefix}{parameter.name}: Any"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        words.append(text)
    return ", ".join(words)


def _signature(value):
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                                  inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])


def _doc(value, indent):
    text = inspect.getdoc(value) if not isinstance(value, type) or value.__doc__ else None
    if not text:
        return ""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = text.splitlines()
    return indent + '"""' + ("\n" + indent).join(lines).rstrip() + ('\n' + indent if len(lines) > 1 else "") + '"""\n'


def function_stub(name, value):
    body = _doc(value, "    ")
    return f"def {name}({_parameters(_signature(value))}) -> Any:\n{body}    ...\n"


def class_stub(name, value):
    lines = [f"class {name}:\n{_doc(value, '    ')}"]
    lines.append(f"    def __init__({_parameters(_signature(value), is_class=True)}) -> None: ...\n")
    for member in sorted(dir(value)):
        if member.startswith("_"):
            continue
        found = inspect.getattr_static(value, member)
        if isinstance(found, property):
            lines.append(f"    @property\n    def {member}(self) -> Any: ...\n")
        elif isinstance(found, (staticmethod, classmethod)):
            kind = "staticmethod" if isinstance(found, staticmethod) else "classmethod"
            parameters = _parameters(_signature(found.__func__))
            lines.append(f"    @{kind}\n    def {member}({parameters}) -> Any: ...\n")
        elif inspect.isfunction(found):
            parameters = _parameters(_signature(found), is_class=True)
            lines.append(f"    def {member}({parameters}) -> Any: ...\n")
        elif not keyword.iskeyword(member):
            lines.append(f"    {member}: Any\n")
    return "".join(lines)


def raw_ops_stub(raw_ops):
    """One function for each op; its inputs and attributes are those of the op tables."""
    out = [HEADER.format(doc="The operations under their own names, from the op tables.")]
    for name in sorted(dir(raw_ops)):
        out.append(function_stub(name, getattr(raw_ops, name)))
    return "\n".join(out)


def namespaces():
    """{namespace: [names]} of the public names, without those of Keras."""
    from weir import _names
    out = {}
    for key, (module, _) in _names.TABLE.items():
        if module.startswith(("keras", "tensorflow")) or key.startswith(("compat.v2", "__internal__")) or "__" in key:
            continue
        prefix, _, name = key.rpartition(".")
        out.setdefault(prefix, set()).add(name)
        while prefix:
            prefix, _, inner = prefix.rpartition(".")
            out.setdefault(prefix, set()).add(inner)
    return out


def namespace_stub(prefix, names, spaces):
    import weir
    owner = functools.reduce(getattr, prefix.split("."), weir) if prefix else weir
    doc = f"tf.{prefix}" if prefix else "TensorFlow's names over weir's engine."
    out = [HEADER.format(doc=doc)]
    inner = sorted(n for n in names if (f"{prefix}.{n}" if prefix else n) in spaces)
    out += [f"from {'.' * 1} import {name} as {name}\n" for name in inner if name.isidentifier()]
    if not prefix:
        out += ["from . import raw_ops as raw_ops\n\n__version__: str\nnewaxis: None\n"]
    for name in sorted(names):
        full = f"{prefix}.{name}" if prefix else name
        if full in spaces or not name.isidentifier() or keyword.iskeyword(name) or name == "raw_ops":
            continue
        try:
            value = getattr(owner, name)
        except Exception:  # noqa: BLE001
            continue
        if isinstance(value, types.ModuleType):
            out.append(f"{name}: Any\n")
        elif isinstance(value, type):
            out.append(class_stub(name, value))
        elif callable(value):
            out.append(function_stub(name, value))
        else:
            out.append(f"{name}: Any\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    import weir
    folder = os.path.join(sys.argv[1], "weir-stubs")
    spaces = namespaces()
    written = 0
    for prefix, names in spaces.items():
        where = os.path.join(folder, *prefix.split("."), "__init__.pyi") if prefix else os.path.join(folder, "__init__.pyi")
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, "w") as file:
            file.write(namespace_stub(prefix, names, spaces))
        written += 1
    with open(os.path.join(folder, "raw_ops.pyi"), "w") as file:
        file.write(raw_ops_stub(weir.raw_ops))
    print(f"{written + 1} stubs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
