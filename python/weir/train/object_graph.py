"""TrackableObjectGraph, the message in which a checkpoint keeps the structure of what was saved.

Only the fields that checkpoints use are read and written: nodes with their children, attributes and slot variables.
"""


def _varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while True:
        byte, number = number & 127, number >> 7
        out.append(byte | (128 if number else 0))
        if not number:
            return bytes(out)


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number, value):
    return _varint(number << 3) + _varint(value) if value else b""


def _text(number, value):
    return _field(number, value.encode()) if value else b""


def _parse(data):
    """(field, value) pairs: ints for varints, bytes for the rest."""
    position, end = 0, len(data)

    def varint():
        nonlocal position
        shift = value = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while position < end:
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        elif kind == 2:
            size = varint()
            yield tag >> 3, data[position:position + size]
            position += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield tag >> 3, data[position:position + size]
            position += size
        else:
            raise ValueError("the object graph of a checkpoint is damaged")


class Node:
    """An object: children (name -> node), attributes (name, full name, key) and slots (variable, name, slot's node)."""

    def __init__(self):
        self.children = {}
        self.attributes = []
        self.slots = []


def serialize(nodes):
    out = []
    for node in nodes:
        body = b"".join(_field(1, _number(1, target) + _text(2, name)) for name, target in node.children.items())
        body += b"".join(_field(2, _text(1, name) + _text(2, full) + _text(3, key))
                         for name, full, key in node.attributes)
        body += b"".join(_field(3, _number(1, variable) + _text(2, name) + _number(3, slot))
                         for variable, name, slot in node.slots)
        body += _field(5, _number(1, 1) if node.attributes or node.slots else b"")
        out.append(_field(1, body))
    return b"".join(out)


def parse(data):
    nodes = []
    for field, body in _parse(data):
        if field != 1:
            continue
        node = Node()
        for part, value in _parse(body):
            if part == 1:
                fields = dict(_parse(value))
                node.children[fields.get(2, b"").decode()] = fields.get(1, 0)
            elif part == 2:
                fields = dict(_parse(value))
                node.attributes.append(tuple(fields.get(i, b"").decode() for i in (1, 2, 3)))
            elif part == 3:
                fields = dict(_parse(value))
                node.slots.append((fields.get(1, 0), fields.get(2, b"").decode(), fields.get(3, 0)))
        nodes.append(node)
    return nodes
