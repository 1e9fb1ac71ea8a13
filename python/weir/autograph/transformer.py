"""Rewrites a function's syntax tree so that branches and loops over tensors become parts of a graph.

The tree keeps the positions of the source, and is compiled under the source's file name: tracebacks show the user's
own lines. `if`, `while` and `for` become calls of `ag__.if_stmt` and its kin, which get the bodies as functions and
two more that read and write the variables the bodies assign; at run time these decide between Python and a graph.
`break`, `continue` and `return` become flags first.
"""

import ast
import itertools


class _Names(ast.NodeVisitor):
    """The names and attribute chains that some statements assign and read, nested functions left out."""

    def __init__(self):
        self.assigned, self.read = {}, set()

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.assigned.setdefault(node.id)
        else:
            self.read.add(node.id)

    def visit_Attribute(self, node):
        chain = _chain(node)
        if chain is not None and isinstance(node.ctx, ast.Store):
            self.assigned.setdefault(chain)
        elif chain is not None:
            self.read.add(chain)
        self.visit(node.value)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        chain = _chain(node.target)
        if chain is not None:
            self.read.add(chain)

    def visit_FunctionDef(self, node):
        if not node.name.startswith("ag_"):
            self.assigned.setdefault(node.name)
        inner = _Names()
        for child in node.body:
            inner.visit(child)
        nonlocals = {n for child in ast.walk(node) if isinstance(child, (ast.Nonlocal, ast.Global)) for n in child.names}
        self.read |= inner.read
        for name in inner.assigned:
            if name in nonlocals or "." in name:
                self.assigned.setdefault(name)
        for default in node.args.defaults + [d for d in node.args.kw_defaults if d is not None] + node.decorator_list:
            self.visit(default)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        inner = _Names()
        inner.visit(node.body)
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.read |= inner.read - own

    def visit_ClassDef(self, node):
        self.assigned.setdefault(node.name)

    def _comprehension(self, node):
        inner = _Names()
        inner.generic_visit(node)
        self.read |= inner.read

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ExceptHandler(self, node):
        if node.name:
            self.assigned.setdefault(node.name)
        self.generic_visit(node)

    def visit_Import(self, node):
        for alias in node.names:
            self.assigned.setdefault((alias.asname or alias.name).split(".")[0])

    visit_ImportFrom = visit_Import


def _chain(node):
    """"a.b.c" of a chain of attributes that starts with a name, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id] + parts[::-1])


def names_of(statements):
    """(assigned in order, read) of a list of statements."""
    visitor = _Names()
    for statement in statements:
        visitor.visit(statement)
    return list(visitor.assigned), visitor.read


def _contains(statements, kinds, stop=()):
    """Whether statements contain a node of some kinds, not looking into nested functions and `stop` kinds."""
    for statement in statements:
        todo = [statement]
        while todo:
            node = todo.pop()
            if isinstance(node, kinds):
                return True
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                continue
            if isinstance(node, stop) and node is not statement:
                continue
            todo.extend(ast.iter_child_nodes(node))
    return False


def _always_returns(statements):
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return False


class _At:
    """Makes nodes that carry the position of a model."""

    def __init__(self, model):
        self.model = model

    def __call__(self, node):
        for child in ast.walk(node):
            if "lineno" in child._attributes and not hasattr(child, "lineno"):
                ast.copy_location(child, self.model)
        return ast.fix_missing_locations(ast.copy_location(node, self.model))

    def parse(self, text, **replacements):
        """Statements of source text in which names stand for nodes."""
        body = ast.parse(text).body
        for node in body:
            for child in ast.walk(node):
                if hasattr(child, "lineno"):
                    # One line, the first: a call that spans lines would be shown at its last one.
                    child.lineno = child.end_lineno = self.model.lineno
                    child.col_offset, child.end_col_offset = self.model.col_offset, self.model.col_offset + 1

        class Replace(ast.NodeTransformer):
            def visit_Name(self, node):
                return replacements.get(node.id, node)

        return [Replace().visit(node) for node in body]


class _Jumps:
    """Turns `break`, `continue` and `return` into flags."""

    def __init__(self, counter):
        self.counter = counter

    def function(self, statements, model):
        """The body of a function with one return at its end, if some return is inside of a branch or loop."""
        statements = self._lift(statements)
        nested = [s for s in statements if not isinstance(s, ast.Return)]
        if _contains(nested, (ast.Return,)):
            at = _At(model)
            head = at.parse("ag_returned = False\nag_value = ag__.UndefinedReturnValue()")
            body, _ = self._returns(statements)
            statements = head + body + at.parse("return ag__.returned(ag_value)")
        return self._block(statements)

    def _lift(self, statements):
        """What follows an `if` that returns moves into the other branch, so that both branches return."""
        out = []
        for i, statement in enumerate(statements):
            if isinstance(statement, ast.If) and _contains([statement], (ast.Return,), (ast.For, ast.While)):
                statement.body, statement.orelse = self._lift(statement.body), self._lift(statement.orelse)
                rest = statements[i + 1:]
                at = _At(statement)
                if _always_returns(statement.body) and not _always_returns(statement.orelse):
                    statement.orelse = self._lift(statement.orelse + (rest or at.parse("return None")))
                    out.append(statement)
                    return out
                if _always_returns(statement.orelse) and not _always_returns(statement.body):
                    statement.body = self._lift(statement.body + (rest or at.parse("return None")))
                    out.append(statement)
                    return out
            out.append(statement)
        return out

    def _returns(self, statements):
        """Returns as flags; the second result tells whether the flag may be set afterwards."""
        out = []
        for i, statement in enumerate(statements):
            at = _At(statement)
            if isinstance(statement, ast.Return):
                value = statement.value or ast.copy_location(ast.Constant(None), statement)
                out += at.parse("ag_returned = True\nag_value = VALUE", VALUE=value)
                return out, True
            may = _contains([statement], (ast.Return,))
            if may:
                for field in ("body", "orelse", "finalbody"):
                    if getattr(statement, field, None):
                        setattr(statement, field, self._returns(getattr(statement, field))[0])
                for handler in getattr(statement, "handlers", []):
                    handler.body = self._returns(handler.body)[0]
                if isinstance(statement, (ast.For, ast.While)):
                    statement.ag_returns = True
            out.append(statement)
            if may and i + 1 < len(statements):
                rest, _ = self._returns(statements[i + 1:])
                if not _always_sets(statement):
                    out += at.parse("if not ag_returned:\n    pass")
                    out[-1].body = rest
                return out, True
        return out, False

    def _block(self, statements):
        """Breaks and continues of the loops in a block as flags."""
        for statement in statements:
            for field in ("body", "orelse", "finalbody"):
                if getattr(statement, field, None) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef,
                                                                                  ast.AsyncFunctionDef, ast.Lambda)):
                    if isinstance(getattr(statement, field), list):
                        setattr(statement, field, self._block(getattr(statement, field)))
            for handler in getattr(statement, "handlers", []):
                handler.body = self._block(handler.body)
        out = []
        for statement in statements:
            if isinstance(statement, (ast.For, ast.While)):
                out += self._loop(statement)
            else:
                out.append(statement)
        return out

    def _loop(self, loop):
        at = _At(loop)
        stop = (ast.For, ast.While)
        before, tests = [], []
        if getattr(loop, "ag_returns", False):
            tests.append("ag_returned")
        if _contains(loop.body, (ast.Continue,), stop):
            flag = f"ag_continue_{next(self.counter)}"
            body, _ = self._flagged(loop.body, ast.Continue, flag)
            loop.body = at.parse(f"{flag} = False") + body
        if _contains(loop.body, (ast.Break,), stop):
            flag = f"ag_break_{next(self.counter)}"
            before = at.parse(f"{flag} = False")
            loop.body, _ = self._flagged(loop.body, ast.Break, flag)
            tests.append(flag)
            if loop.orelse:
                otherwise = at.parse(f"if not {flag}:\n    pass")
                otherwise[0].body = loop.orelse
                loop.orelse = []
                loop.ag_stop = tests
                return before + [loop] + otherwise
        loop.ag_stop = tests
        after = loop.orelse
        loop.orelse = []
        return before + [loop] + after

    def _flagged(self, statements, kind, flag):
        out = []
        for i, statement in enumerate(statements):
            at = _At(statement)
            if isinstance(statement, kind):
                return out + at.parse(f"{flag} = True"), True
            may = not isinstance(statement, (ast.For, ast.While)) and _contains([statement], (kind,), (ast.For, ast.While))
            if may:
                for field in ("body", "orelse", "finalbody"):
                    if getattr(statement, field, None):
                        setattr(statement, field, self._flagged(getattr(statement, field), kind, flag)[0])
                for handler in getattr(statement, "handlers", []):
                    handler.body = self._flagged(handler.body, kind, flag)[0]
            out.append(statement)
            if may and i + 1 < len(statements):
                rest, _ = self._flagged(statements[i + 1:], kind, flag)
                guard = at.parse(f"if not {flag}:\n    pass")
                guard[0].body = rest
                return out + guard, True
        return out, False


def _always_sets(statement):
    """Whether a rewritten statement sets the return flag on every way."""
    if isinstance(statement, ast.If):
        return bool(statement.body) and bool(statement.orelse) and _sets(statement.body) and _sets(statement.orelse)
    return False


def _sets(statements):
    return any((isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == "ag_returned")
               or _always_sets(s) for s in statements)


_NOT_CONVERTED = {"super", "locals", "globals", "vars", "eval", "exec", "dir", "isinstance", "type"}


class _Expressions(ast.NodeTransformer):
    """`and`, `or`, `not`, conditional expressions, chained comparisons, asserts and calls."""

    def _lambda(self, node):
        return ast.copy_location(ast.Lambda(args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[],
                                                               defaults=[]), body=node), node)

    def _call(self, name, arguments, model):
        function = ast.Attribute(value=ast.Name(id="ag__", ctx=ast.Load()), attr=name, ctx=ast.Load())
        return _At(model)(ast.Call(func=function, args=arguments, keywords=[]))

    @staticmethod
    def _movable(node):
        return not any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(node))

    def visit_BoolOp(self, node):
        node = self.generic_visit(node)
        if not self._movable(node):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = self._call(name, [self._lambda(value), self._lambda(result)], node)
        return result

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return self._call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if len(node.ops) == 1 or not self._movable(node):
            if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                return node
            return node
        pairs, left = [], node.left
        for op, right in zip(node.ops, node.comparators):
            pairs.append(_At(node)(ast.Compare(left=left, ops=[op], comparators=[right])))
            left = right
        result = pairs[-1]
        for pair in reversed(pairs[:-1]):
            result = self._call("and_", [self._lambda(pair), self._lambda(result)], node)
        return result

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        if not self._movable(node):
            return node
        return self._call("if_exp", [node.test, self._lambda(node.body), self._lambda(node.orelse)], node)

    def visit_Assert(self, node):
        node = self.generic_visit(node)
        message = self._lambda(node.msg) if node.msg is not None else ast.copy_location(ast.Constant(None), node)
        return _At(node)(ast.Expr(value=self._call("assert_stmt", [node.test, message], node)))

    def visit_Call(self, node):
        node = self.generic_visit(node)
        if isinstance(node.func, ast.Name) and (node.func.id in _NOT_CONVERTED or node.func.id.startswith("ag_")):
            return node
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "ag__":
            return node
        node.func = self._call("callable_", [node.func], node.func)
        return node

    def visit_FunctionDef(self, node):
        decorators, node.decorator_list = node.decorator_list, []
        node = self.generic_visit(node)
        node.decorator_list = decorators
        return node


def _sets_options(statement):
    """Whether a statement is a call of set_loop_options."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and any(
        getattr(part, "attr", getattr(part, "id", None)) == "set_loop_options" for part in ast.walk(statement.value.func))


class _ControlFlow:
    """`if`, `while` and `for` as calls with functions for their bodies."""

    def __init__(self, counter, all_statements, locals_):
        self.counter = counter
        self.all_statements = all_statements
        self.locals = locals_

    def block(self, statements):
        """A block with its control flow rewritten, innermost first."""
        out = []
        for statement in statements:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                out.append(statement)
                continue
            if isinstance(statement, (ast.If, ast.While, ast.For)):
                out += self.statement(statement)
                continue
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(statement, field, None), list):
                    setattr(statement, field, self.block(getattr(statement, field)))
            for handler in getattr(statement, "handlers", []):
                handler.body = self.block(handler.body)
            out.append(statement)
        return out

    def _state(self, statement, bodies, extra=()):
        """(names, live, nonlocal) of what a statement assigns."""
        assigned, _ = names_of(bodies)
        names = [n for n in list(extra) + assigned if n.split(".")[0] in self.locals]
        names = list(dict.fromkeys(names))
        roots = [n for n in names if "." not in n]
        # A value made in a branch cannot be followed through an object that is made there, too.
        names = [n for n in names if "." not in n or n.split(".")[0] not in roots]
        inside = set(map(id, ast.walk(statement)))
        read_outside = set()
        for node in ast.walk(ast.Module(body=self.all_statements, type_ignores=[])):
            if id(node) not in inside and isinstance(node, (ast.Name, ast.Attribute)) and isinstance(
                    getattr(node, "ctx", None), ast.Load):
                chain = _chain(node)
                if chain:
                    read_outside.add(chain)
        live = [n in read_outside or "." in n or n in ("ag_value", "ag_returned") for n in names]
        return names, live

    def _functions(self, at, number, names):
        roots = [n for n in names if "." not in n]
        declare = f"    nonlocal {', '.join(roots)}\n" if roots else ""
        loads = ", ".join(n if "." not in n else f"ag__.load_attribute(lambda: {n}, '{n}')" for n in names)
        get = at.parse(f"def ag_get_{number}():\n    return ({loads}{',' if names else ''})")
        if names:
            store = f"    ({', '.join(names)},) = ag_values\n"
        else:
            store = "    pass\n"
        put = at.parse(f"def ag_set_{number}(ag_values):\n{declare}{store}")
        return get + put, declare

    def _with_body(self, at, header, declare, body):
        function = at.parse(f"def {header}:\n{declare}    pass")[0]
        function.body = [s for s in function.body if not isinstance(s, ast.Pass)] + body
        if not function.body:
            function.body = at.parse("pass")
        return function

    def statement(self, node):
        """One `if`, `while` or `for` rewritten."""
        at, number = _At(node), next(self.counter)
        if isinstance(node, ast.If):
            names, live = self._state(node, node.body + node.orelse)
            functions, declare = self._functions(at, number, names)
            then = self._with_body(at, f"ag_then_{number}()", declare, self.block(node.body))
            other = self._with_body(at, f"ag_else_{number}()", declare, self.block(node.orelse))
            call = at.parse(f"ag__.if_stmt(TEST, ag_then_{number}, ag_else_{number}, ag_get_{number}, ag_set_{number}, "
                            f"{tuple(names)!r}, {tuple(live)!r})", TEST=node.test)
            return functions + [then, other] + call
        options = []  # what the body says about the loop is said before it
        while node.body and _sets_options(node.body[0]):
            options.append(node.body.pop(0))
        if options:
            node.body = node.body or [at(ast.Pass())]
            return options + self._loop(node, at, number)
        return self._loop(node, at, number)

    def _loop(self, node, at, number):
        stop = getattr(node, "ag_stop", [])
        if isinstance(node, ast.While):
            test = node.test
            if stop:
                condition = at.parse(f"not ({' or '.join(stop)})")[0].value
                condition = _Expressions().visit(condition)
                test = _Expressions()._call("and_", [_Expressions()._lambda(condition), _Expressions()._lambda(test)], node)
            names, live = self._state(node, node.body)
            functions, declare = self._functions(at, number, names)
            test_function = at.parse(f"def ag_test_{number}():\n    return TEST", TEST=test)
            body = self._with_body(at, f"ag_body_{number}()", declare, self.block(node.body))
            call = at.parse(f"ag__.while_stmt(ag_test_{number}, ag_body_{number}, ag_get_{number}, ag_set_{number}, "
                            f"{tuple(names)!r}, {tuple(live)!r})")
            return functions + test_function + [body] + call
        target_names, _ = names_of([ast.Assign(targets=[node.target], value=ast.Constant(None))])
        names, live = self._state(node, node.body, target_names)
        functions, declare = self._functions(at, number, names)
        assign = _At(node.target)(ast.Assign(targets=[node.target], value=ast.Name(id="ag_item", ctx=ast.Load())))
        body = self._with_body(at, f"ag_body_{number}(ag_item)", declare, [assign] + self.block(node.body))
        if stop:
            condition = _Expressions().visit(at.parse(f"not ({' or '.join(stop)})")[0].value)
            test = at.parse(f"def ag_test_{number}():\n    return TEST", TEST=condition)
            test_name = f"ag_test_{number}"
        else:
            test, test_name = [], "None"
        call = at.parse(f"ag__.for_stmt(ITER, {test_name}, ag_body_{number}, ag_get_{number}, ag_set_{number}, "
                        f"{tuple(names)!r}, {tuple(live)!r})", ITER=node.iter)
        return functions + test + [body] + call


def transform_function(node):
    """A FunctionDef or Lambda as a FunctionDef with its control flow rewritten."""
    if isinstance(node, ast.Lambda):
        function = ast.FunctionDef(name="ag_lambda", args=node.args,
                                   body=[ast.copy_location(ast.Return(value=node.body), node.body)], decorator_list=[],
                                   returns=None, type_comment=None)
        node = ast.fix_missing_locations(ast.copy_location(function, node))
    node.decorator_list = []
    node.returns = None
    counter = itertools.count(1)
    outer = {n for child in node.body for c in ast.walk(child) if isinstance(c, (ast.Global, ast.Nonlocal)) for n in c.names}
    node.body = _Jumps(counter).function(node.body, node)
    node.body = [_Expressions().visit(statement) for statement in node.body]
    assigned, _ = names_of(node.body)
    parameters = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    locals_ = set(assigned) | set(parameters)
    roots = {n for n in locals_ if "." not in n} - outer
    roots |= {n.split(".")[0] for n in locals_ if "." in n}
    flow = _ControlFlow(counter, list(node.body), roots | set(parameters))
    before = _At(node)
    controlled = set()
    for statement in node.body:
        for child in ast.walk(statement):
            if isinstance(child, (ast.If, ast.While, ast.For)):
                controlled.update(names_of([child])[0])
    body = flow.block(node.body)
    undefined = sorted(n for n in controlled if "." not in n and n not in parameters and n not in outer)
    head = [s for name in undefined for s in before.parse(f"{name} = ag__.Undefined('{name}')")]
    docstring = body[:1] if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else []
    declarations = [s for s in body if isinstance(s, (ast.Global, ast.Nonlocal))]
    rest = [s for s in body[len(docstring):] if not isinstance(s, (ast.Global, ast.Nonlocal))]
    node.body = docstring + declarations + head + rest
    return ast.fix_missing_locations(node)
