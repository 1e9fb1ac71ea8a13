"""GraphDef and NodeDef as far as programs look into them: names, ops, inputs and devices of nodes, and the bytes."""

__all__ = ["GraphDef", "NodeDef", "graph_def", "node_def"]


class NodeDef:
    """A node of a GraphDef."""

    def __init__(self, name="", op="", input=(), device=""):
        self.name = name
        self.op = op
        self.input = list(input)
        self.device = device

    def __repr__(self):
        lines = [f'name: "{self.name}"', f'op: "{self.op}"'] + [f'input: "{i}"' for i in self.input]
        return "\n".join(lines + ([f'device: "{self.device}"'] if self.device else [])) + "\n"


class GraphDef:
    """A serialized graph; `node` is read from it when it is asked for."""

    def __init__(self, data=b""):
        self._data = data
        self._nodes = None

    @property
    def node(self):
        if self._nodes is None:
            from weir.train.object_graph import _parse
            self._nodes = []
            for field, body in _parse(self._data):
                if field != 1:
                    continue
                node = NodeDef()
                for part, value in _parse(body):
                    if part == 1:
                        node.name = value.decode()
                    elif part == 2:
                        node.op = value.decode()
                    elif part == 3:
                        node.input.append(value.decode())
                    elif part == 4:
                        node.device = value.decode()
                self._nodes.append(node)
        return self._nodes

    def SerializeToString(self):
        return self._data

    def ParseFromString(self, data):
        self._data = bytes(data)
        self._nodes = None
        return len(data)

    @classmethod
    def FromString(cls, data):
        return cls(bytes(data))

    def ByteSize(self):
        return len(self._data)


def graph_def(data):
    return GraphDef(data)


def node_def(operation):
    inputs = [t.op.name if t.value_index == 0 else t.name for t in operation.inputs]
    inputs += ["^" + op.name for op in operation.control_inputs]
    return NodeDef(operation.name, operation.type, inputs, operation.device)
