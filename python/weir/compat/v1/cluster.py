"""ClusterSpec, and tf.train.Server: one task of a cluster in this process."""

import threading

from weir import _core
from weir.framework import protos

__all__ = ["ClusterSpec", "Server"]


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks."""

    def __init__(self, cluster):
        self._jobs = {}
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, dict):
            for job, tasks in cluster.items():
                if isinstance(tasks, (list, tuple)):
                    tasks = dict(enumerate(tasks))
                elif not isinstance(tasks, dict):
                    raise TypeError("The tasks for job {!r} must be a list or a dictionary from integers to strings.".format(
                        job))
                self._jobs[job] = {int(index): _text(address) for index, address in tasks.items()}
        elif hasattr(cluster, "job"):
            for job in cluster.job:
                self._jobs[job.name] = dict(job.tasks)
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or "
                            "a `ClusterDef` protocol buffer")

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        jobs = ", ".join(f"'{job}': {self.as_dict()[job]!r}" for job in sorted(self._jobs))
        return f"ClusterSpec({{{jobs}}})"

    @property
    def jobs(self):
        return list(self._jobs)

    def as_dict(self):
        """Lists of addresses by job; dicts where task numbers have gaps."""
        return {job: [tasks[i] for i in range(len(tasks))] if sorted(tasks) == list(range(len(tasks))) else dict(tasks)
                for job, tasks in self._jobs.items()}

    def num_tasks(self, job_name):
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        return sorted(self._tasks(job_name))

    def task_address(self, job_name, task_index):
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def _tasks(self, job_name):
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def as_cluster_def(self):
        made = protos.message("ClusterDef")()
        for job in sorted(self._jobs):
            entry = made.job.add(name=job)
            for index in sorted(self._jobs[job]):
                entry.tasks[index] = self._jobs[job][index]
        return made


ClusterSpec.__module__ = "tensorflow.python.training.server_lib"


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


class Server:
    """Serves one task of a cluster; its `target` is what sessions connect to."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        server_def = protos.message("ServerDef")
        if isinstance(server_or_cluster_def, server_def):
            made = server_def()
            made.CopyFrom(server_or_cluster_def)
        else:
            made = server_def(cluster=ClusterSpec(server_or_cluster_def).as_cluster_def())
        if job_name is not None:
            made.job_name = job_name
        if task_index is not None:
            made.task_index = task_index
        if not made.job_name:
            if len(made.cluster.job) != 1:
                raise ValueError("Must specify an explicit job_name.")
            made.job_name = made.cluster.job[0].name
            if task_index is None:
                if len(made.cluster.job[0].tasks) != 1:
                    raise ValueError("Must specify an explicit task_index.")
                made.task_index = next(iter(made.cluster.job[0].tasks))
        made.protocol = protocol or made.protocol or "grpc"
        if config is not None:
            made.default_session_config.CopyFrom(config)
        self._server_def = made
        self._server = None
        own = next((job.tasks[made.task_index] for job in made.cluster.job if job.name == made.job_name
                    and made.task_index in job.tasks), "")
        self._any_port = own.endswith(":0") and sum(len(job.tasks) for job in made.cluster.job) == 1
        self._stopped = threading.Event()
        if start:
            self.start()

    def start(self):
        """Begins to serve."""
        if self._server is None:
            if not self._any_port:
                self._server = _core.Server(self._server_def.SerializeToString())
                return
            started = protos.message("ServerDef")()
            started.CopyFrom(self._server_def)
            for job in started.cluster.job:
                job.tasks[started.task_index] = "localhost:1"  # any address: there is nobody else to call
            self._server = _core.Server(started.SerializeToString(), 0)

    def join(self):
        """Waits for ever, or until Ctrl-C."""
        while not self._stopped.wait(3600):
            pass

    server_def = property(lambda self: self._server_def)

    @property
    def target(self):
        """"grpc://host:port" for sessions."""
        self.start()
        return self._server.target()

    @staticmethod
    def create_local_server(config=None, start=True):
        """A server that is a cluster of one task, at any free port."""
        made = protos.message("ServerDef")(job_name="local", task_index=0, protocol="grpc")
        job = made.cluster.job.add(name="local")
        job.tasks[0] = "localhost:0"
        return Server(made, config=config, start=start)


Server.__module__ = "tensorflow.python.training.server_lib"
