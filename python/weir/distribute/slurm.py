"""Slurm's lists of hosts and of tasks per node."""

import re

__all__ = ["expand_hosts", "expand_tasks"]


def _ranges(text, whole):
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise ValueError(f"{whole!r} is no list of hosts: {part!r} is neither a number nor a range")
        first, last = match.group(1), match.group(2) or match.group(1)
        if int(last) < int(first):
            raise ValueError(f"{whole!r} is no list of hosts: the range {part!r} is empty")
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def _expand_one(text, whole):
    begin = text.find("[")
    if begin < 0:
        if "]" in text:
            raise ValueError(f"{whole!r} is no list of hosts: a bracket is not opened")
        return [text]
    end = text.find("]", begin)
    if end < 0 or "[" in text[begin + 1:end]:
        raise ValueError(f"{whole!r} is no list of hosts: a bracket is not closed")
    rest = text[end + 1:]
    if rest and "[" not in rest:
        raise ValueError(f"{whole!r} is no list of hosts: nothing may follow the last bracket")
    tails = _expand_one(rest, whole) if rest else [""]
    return [text[:begin] + number + tail for number in _ranges(text[begin + 1:end], whole) for tail in tails]


def expand_hosts(text):
    """The hosts of an expression such as "n[1-3,7],login", in Slurm's order."""
    out, depth, word = [], 0, ""
    for letter in text + ",":
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            if word:
                out += _expand_one(word, text)
            word = ""
        else:
            word += letter
    if word:
        raise ValueError(f"{text!r} is no list of hosts: a bracket is not closed")
    return out


def expand_tasks(text):
    """The tasks of each node, from an expression such as "3(x2),1"."""
    out = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ValueError(f"{text!r} is no list of tasks per node")
        out += [int(match.group(1))] * int(match.group(2) or 1)
    return out
