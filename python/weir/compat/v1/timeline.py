"""Timeline: where the time of a traced step went, as a trace that Chrome and Perfetto show."""

import json

__all__ = ["Timeline"]


class Timeline:
    """A view of StepStats."""

    def __init__(self, step_stats, graph=None):
        self._stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False, op_time="schedule"):
        """The trace as JSON."""
        events = []
        for number, device in enumerate(self._stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": number,
                           "args": {"name": device.device + " Compute"}})
            for node in device.node_stats:
                label = node.timeline_label
                operation = node.node_name
                if " = " in label and "(" in label:
                    operation = label.split(" = ", 1)[1].split("(", 1)[0]
                events.append({"ph": "X", "cat": "Op", "name": operation, "pid": number, "tid": node.thread_id,
                               "ts": node.all_start_micros, "dur": max(1, node.all_end_rel_micros),
                               "args": {"name": node.node_name, "op": operation}})
        return json.dumps({"traceEvents": events}, indent=4, separators=(",", ": "))
