"""tensorflow.python.framework.test_combinations: tests that run with each combination of parameters.

The "mode" of a combination chooses graph or eager execution; tests of TensorFlow 1's behaviour ("tf_api_version" 1) are
skipped, as TensorFlow 2 skips them.
"""

import inspect
import itertools

from weir.framework.graph import Graph, eager_mode

__all__ = ["EagerGraphCombination", "NamedObject", "OptionalParameter", "ParameterModifier", "TFVersionCombination",
           "TestCombination", "combine", "generate", "keywords", "name_of", "times"]


class NamedObject:
    """A value with the name that it has in a parameterized test."""

    def __init__(self, name, obj):
        self._name, self._obj = name, obj

    def __getattr__(self, name):
        return getattr(self._obj, name)

    def __call__(self, *args, **kwargs):
        return self._obj(*args, **kwargs)

    def __iter__(self):
        return iter(self._obj)

    def __repr__(self):
        return self._name


class TestCombination:
    """Says in which contexts, with which changed parameters and whether at all a test runs."""

    __test__ = False

    def should_execute_combination(self, kwargs):
        del kwargs
        return True, None

    def parameter_modifiers(self):
        return []

    def context_managers(self, kwargs):
        del kwargs
        return []


class ParameterModifier:
    """Changes a parameter before the test gets it."""

    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name=None):
        self._parameter_name = parameter_name

    def modified_arguments(self, kwargs, requested_parameters):
        del kwargs, requested_parameters
        return {}


class OptionalParameter(ParameterModifier):
    """A parameter that tests need not take."""

    def modified_arguments(self, kwargs, requested_parameters):
        """Leaves the parameter out where the test does not ask for it."""
        if self._parameter_name in requested_parameters:
            return {}
        return {self._parameter_name: ParameterModifier.DO_NOT_PASS_TO_THE_TEST}


class EagerGraphCombination(TestCombination):
    """The parameter "mode": "graph" or "eager"."""

    def context_managers(self, kwargs):
        """A graph of its own, or eager execution."""
        mode = kwargs.pop("mode", None)
        if mode is None:
            return []
        if mode not in ("eager", "graph"):
            raise ValueError(f"Argument 'mode' must be either 'eager' or 'graph'. Received: {mode}.")
        return [eager_mode()] if mode == "eager" else [Graph().as_default()]

    def parameter_modifiers(self):
        return [OptionalParameter("mode")]


class TFVersionCombination(TestCombination):
    """The parameter "tf_api_version": 1 or 2."""

    def should_execute_combination(self, kwargs):
        """Only TensorFlow 2's behaviour is there to be tested."""
        if kwargs.pop("tf_api_version", 2) == 1:
            return False, "Skipping a TF1.x test when TF2 is enabled."
        return True, None

    def parameter_modifiers(self):
        return [OptionalParameter("tf_api_version")]


def combine(**kwargs):
    """All combinations of the values of named parameters, as a list of dictionaries."""
    items = [(key, list(value) if isinstance(value, (list, tuple)) else [value]) for key, value in sorted(kwargs.items())]
    return [dict(zip([k for k, _ in items], values)) for values in itertools.product(*[v for _, v in items])]


def times(*combined):
    """The product of lists of combinations."""
    out = []
    for parts in itertools.product(*combined):
        keys = [key for part in parts for key in part]
        if len(keys) != len(set(keys)):
            raise ValueError(f"Duplicate keys in the combinations: {sorted(keys)}")
        out.append({key: value for part in parts for key, value in part.items()})
    return out


def name_of(parameters):
    """The end of a test's name."""
    words = []
    for key, value in parameters.items():
        text = value.__name__ if callable(value) and hasattr(value, "__name__") else str(value)
        words.append(f"{''.join(filter(str.isalnum, key))}_{''.join(filter(str.isalnum, text))}")
    return "_test_" + "_".join(words)


def keywords(function, parameters, modifiers=()):
    """Those of the parameters that a function takes."""
    signature = inspect.signature(function).parameters
    if not any(p.kind == p.VAR_KEYWORD for p in signature.values()):
        optional = {m._parameter_name for m in modifiers} | {"mode", "tf_api_version"}
        return {k: v for k, v in parameters.items() if k in signature or k not in optional}
    return dict(parameters)


def generate(combinations, test_combinations=()):
    """Decorator: the test, or each test of a class, runs with each combination."""
    kinds = tuple(test_combinations) or (EagerGraphCombination(), TFVersionCombination())

    def decorate(function):
        if isinstance(function, type):
            for name, member in list(vars(function).items()):
                if name.startswith("test") and inspect.isfunction(member):
                    setattr(function, name, None)
                    _add(function, name, member)
            return function
        from absl.testing import parameterized
        named = [{**_unwrapped(p), "testcase_name": name_of(p)} for p in combinations]
        return parameterized.named_parameters(*named)(_one(function))

    def _add(cls, name, member):
        delattr(cls, name)
        for number, parameters in enumerate(combinations):
            def test(self, chosen=parameters, run=_one(member)):
                return run(self, **_unwrapped(chosen))
            setattr(cls, f"{name}{number}{name_of(parameters)}", test)

    def _one(function):
        def test(self, **parameters):
            return _run(self, function, parameters, kinds)
        test.__name__ = getattr(function, "__name__", "test")
        return test
    return decorate


def _unwrapped(parameters):
    return {key: value._obj if isinstance(value, NamedObject) else value for key, value in parameters.items()}


def _run(test, function, parameters, kinds):
    import contextlib
    modifiers = [m for kind in kinds for m in kind.parameter_modifiers()]
    for kind in kinds:
        proceed, reason = kind.should_execute_combination(dict(parameters))
        if not proceed:
            test.skipTest(reason)
    requested = list(inspect.signature(function).parameters)
    given = dict(parameters)
    for modifier in modifiers:
        given.update(modifier.modified_arguments(dict(given), requested))
    given = {k: v for k, v in given.items() if v is not ParameterModifier.DO_NOT_PASS_TO_THE_TEST}
    with contextlib.ExitStack() as stack:
        for kind in kinds:
            for manager in kind.context_managers(dict(parameters)):
                stack.enter_context(manager)
        if parameters.get("mode") == "graph" and hasattr(test, "test_session"):
            stack.enter_context(test.test_session())
        return function(test, **keywords(function, given, modifiers))
