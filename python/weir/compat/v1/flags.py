"""tf.flags: arguments of the command line. With the package absl it is absl's; without, what programs use most."""

import sys

try:
    from absl import flags as _absl
except ImportError:
    _absl = None


class Error(Exception):
    """Something is wrong with a flag."""


class _Flags:
    """The values of flags, by attribute; parsed when the first is asked for."""

    def __init__(self):
        self.__dict__["_flags"] = {}  # name -> [parse, value, help]
        self.__dict__["_parsed"] = False
        self.__dict__["_rest"] = []

    def _define(self, name, default, help_text, parse):
        if name in self._flags:
            raise Error(f"The flag '{name}' is defined twice.")
        self._flags[name] = [parse, default, help_text]

    def __getattr__(self, name):
        if name not in self.__dict__["_flags"]:
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv)
        return self._flags[name][1]

    def __setattr__(self, name, value):
        self._flags[name][1] = value

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def flag_values_dict(self):
        return {name: row[1] for name, row in self._flags.items()}

    def is_parsed(self):
        return self._parsed

    def mark_as_parsed(self):
        self.__dict__["_parsed"] = True

    def __call__(self, argv, known_only=False):
        """Takes the flags from the arguments; gives the rest."""
        self.__dict__["_parsed"] = True
        rest, items = [argv[0]], list(argv[1:])
        while items:
            item = items.pop(0)
            if item == "--":
                rest += items
                break
            if not item.startswith("-") or item == "-":
                rest.append(item)
                continue
            name, sign, value = item.lstrip("-").partition("=")
            if name in ("help", "h") and "help" not in self._flags:
                for flag, (_, default, text) in self._flags.items():
                    print(f"  --{flag}: {text} (default: {default!r})")
                sys.exit(1)
            row = self._flags.get(name)
            if row is None and name.startswith("no") and name[2:] in self._flags:
                self._flags[name[2:]][1] = False
                continue
            if row is None:
                if known_only:
                    rest.append(item)
                    continue
                raise Error(f"Unknown command line flag '{name}'")
            if not sign:
                if row[0] is _boolean:
                    value = "true"
                elif items:
                    value = items.pop(0)
                else:
                    raise Error(f"Missing value for flag --{name}")
            row[1] = row[0](value)
        return rest

    def get_help(self):
        return "\n".join(f"  --{name}: {row[2]}" for name, row in self._flags.items())


def _boolean(text):
    lower = str(text).lower()
    if lower in ("true", "t", "1"):
        return True
    if lower in ("false", "f", "0"):
        return False
    raise Error(f"Non-boolean argument to boolean flag: {text}")


def _own_names():
    values = _Flags()

    def define(parse):
        def make(flag_name, default_value, docstring="", **_):
            values._define(flag_name, default_value, docstring, parse)
        return make

    def define_enum(name, default, enum_values, help="", **_):  # pylint: disable=redefined-builtin
        def parse(text):
            if text not in enum_values:
                raise Error(f"value should be one of <{'|'.join(enum_values)}>")
            return text
        values._define(name, default, help, parse)
    return {"FLAGS": values, "DEFINE_string": define(str), "DEFINE_integer": define(int), "DEFINE_float": define(float),
            "DEFINE_boolean": define(_boolean), "DEFINE_bool": define(_boolean), "DEFINE_enum": define_enum,
            "DEFINE_list": define(lambda text: [p.strip() for p in text.split(",")] if text else []),
            "mark_flag_as_required": lambda name, **_: None, "Error": Error}


def _absl_names():
    def renamed(function):
        def call(*args, **kwargs):
            for old, new in (("flag_name", "name"), ("default_value", "default"), ("docstring", "help")):
                if old in kwargs:
                    kwargs[new] = kwargs.pop(old)
            if len(args) + len(kwargs) == 2 and "help" not in kwargs:
                kwargs["help"] = ""
            return function(*args, **kwargs)
        return call
    out = {name: getattr(_absl, name) for name in dir(_absl) if not name.startswith("_")}
    for name in ("DEFINE_string", "DEFINE_integer", "DEFINE_float", "DEFINE_boolean", "DEFINE_bool"):
        out[name] = renamed(out[name])
    out["FLAGS"] = _ParsingFlags()
    return out


class _ParsingFlags:
    """absl's flags, parsed when the first is asked for: programs of TensorFlow 1 read them without app.run."""

    def __getattr__(self, name):
        values = _absl.FLAGS
        if not values.is_parsed() and name in values:
            values(sys.argv, known_only=True)
        return getattr(values, name)

    def __setattr__(self, name, value):
        setattr(_absl.FLAGS, name, value)

    def __call__(self, *args, **kwargs):
        return _absl.FLAGS(*args, **kwargs)

    def __contains__(self, name):
        return name in _absl.FLAGS

    def __getitem__(self, name):
        return _absl.FLAGS[name]

    def __iter__(self):
        return iter(_absl.FLAGS)


globals().update(_own_names() if _absl is None else _absl_names())
