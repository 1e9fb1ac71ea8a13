"""tf.distribute.cluster_resolver: which tasks there are, and which of them this process is."""

import json
import os

from weir.compat.v1.cluster import ClusterSpec

__all__ = ["ClusterResolver", "KubernetesClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver",
           "TFConfigClusterResolver", "UnionResolver"]


def _with_layer(address, rpc_layer):
    return f"{rpc_layer}://{address}" if rpc_layer else address


class ClusterResolver:
    """What strategies ask about the cluster."""

    task_type = None
    task_id = None
    environment = ""
    rpc_layer = None

    def cluster_spec(self):
        """All tasks, as a ClusterSpec."""
        raise NotImplementedError

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The address that sessions connect to."""
        raise NotImplementedError

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        """{"GPU": n} for the devices of this process that are no CPUs."""
        del task_type, task_id, config_proto
        from weir.framework import config
        count = len(config.list_logical_devices("GPU"))
        return {"GPU": count} if count else {}


class SimpleClusterResolver(ClusterResolver):
    """What it was told."""

    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, environment="", num_accelerators=None,
                 rpc_layer=None):
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master, self._num_accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self.environment = environment

    def cluster_spec(self):
        return self._cluster_spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is not None and task_id is not None:
            return _with_layer(self._cluster_spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)
        return _with_layer(self._master, rpc_layer or self.rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        if self._num_accelerators is None:
            return super().num_accelerators(task_type, task_id, config_proto)
        return self._num_accelerators


class TFConfigClusterResolver(ClusterResolver):
    """What the environment variable TF_CONFIG says."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        self._given = {"type": task_type, "index": task_id}
        self._rpc_layer, self._environment = rpc_layer, environment

    @staticmethod
    def _config():
        return json.loads(os.environ.get("TF_CONFIG", "{}"))

    def _task(self, key):
        if self._given[key] is not None:
            return self._given[key]
        return self._config().get("task", {}).get(key)

    @property
    def task_type(self):
        found = self._task("type")
        return str(found) if found is not None else None

    @task_type.setter
    def task_type(self, value):
        self._given["type"] = value

    @property
    def task_id(self):
        found = self._task("index")
        return int(found) if found is not None else None

    @task_id.setter
    def task_id(self, value):
        self._given["index"] = value

    @property
    def environment(self):
        return self._environment

    @property
    def rpc_layer(self):
        return self._rpc_layer if self._rpc_layer is not None else self._config().get("rpc_layer")

    @rpc_layer.setter
    def rpc_layer(self, value):
        self._rpc_layer = value

    def cluster_spec(self):
        return ClusterSpec(self._config().get("cluster", {}))

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        session_master = self._config().get("session_master")
        if session_master is not None:
            return session_master
        spec = self.cluster_spec()
        addresses = [address for job in spec.jobs for address in spec.job_tasks(job)]
        if not addresses:
            return ""
        task_type = task_type if task_type is not None else self.task_type
        task_id = task_id if task_id is not None else self.task_id
        if len(addresses) == 1 and task_type is None:
            return _with_layer(addresses[0], rpc_layer or self.rpc_layer)
        return _with_layer(spec.task_address(task_type or "", task_id or 0), rpc_layer or self.rpc_layer)


class UnionResolver(ClusterResolver):
    """Several resolvers together; the first one says which task this is."""

    def __init__(self, *args, **kwargs):
        self._rpc_layer = kwargs.pop("rpc_layer", None)
        self._task_type, self._task_id = kwargs.pop("task_type", None), kwargs.pop("task_id", None)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args

    task_type = property(lambda self: self._task_type or self._resolvers[0].task_type)
    task_id = property(lambda self: self._task_id if self._task_id is not None else self._resolvers[0].task_id)
    environment = property(lambda self: self._resolvers[0].environment)
    rpc_layer = property(lambda self: self._rpc_layer or self._resolvers[0].rpc_layer)

    def cluster_spec(self):
        jobs = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                if isinstance(tasks, dict) or isinstance(jobs.get(job), dict):
                    merged = dict(enumerate(jobs.get(job, []))) if not isinstance(jobs.get(job), dict) else jobs[job]
                    for index, address in (tasks.items() if isinstance(tasks, dict) else enumerate(tasks)):
                        if merged.setdefault(index, address) != address:
                            raise KeyError(f"Duplicate index detected between merged clusters: job {job!r}, task {index}")
                    jobs[job] = merged
                else:
                    known = jobs.setdefault(job, [])
                    known += [address for address in tasks if address not in known]
        return ClusterSpec(jobs)

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is not None and task_id is not None:
            return _with_layer(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)


class SlurmClusterResolver(ClusterResolver):
    """The tasks of this step of a Slurm job, in Slurm's own order of hosts. Without `jobs` all are workers."""

    def __init__(self, jobs=None, port_base=8888, gpus_per_node=None, gpus_per_task=None, tasks_per_node=None,
                 auto_set_gpu=True, rpc_layer="grpc"):
        from weir.distribute import slurm
        del gpus_per_node, gpus_per_task, auto_set_gpu  # which devices a process sees is the launcher's matter
        self._rank = int(self._variable("SLURM_PROCID"))
        if jobs is None:
            jobs = {"worker": int(self._variable("SLURM_STEP_NUM_TASKS"))}
        self._jobs = dict(sorted(jobs.items()))
        hosts = slurm.expand_hosts(self._variable("SLURM_STEP_NODELIST"))
        if tasks_per_node is None:
            tasks = slurm.expand_tasks(self._variable("SLURM_STEP_TASKS_PER_NODE"))
        else:
            tasks = [tasks_per_node] * len(hosts) if isinstance(tasks_per_node, int) else list(tasks_per_node)
        if len(tasks) != len(hosts):
            raise ValueError(f"Slurm names {len(hosts)} nodes, but the tasks of {len(tasks)}")
        addresses = [f"{host}:{port_base + i}" for host, count in zip(hosts, tasks) for i in range(count)]
        if sum(self._jobs.values()) != len(addresses):
            raise RuntimeError(f"Requested {sum(self._jobs.values())} tasks in total, but Slurm has started "
                               f"{len(addresses)}")
        self._addresses, self.rpc_layer = addresses, rpc_layer
        first = 0
        for job, count in self._jobs.items():
            if first <= self._rank < first + count:
                self.task_type, self.task_id = job, self._rank - first
            first += count

    @staticmethod
    def _variable(name):
        if name not in os.environ:
            raise RuntimeError(f"{name} is not set in the environment: this process was not started by srun")
        return os.environ[name]

    def cluster_spec(self):
        out, first = {}, 0
        for job, count in self._jobs.items():
            out[job] = self._addresses[first:first + count]
            first += count
        return ClusterSpec(out)

    def get_task_info(self):
        """(job, number) of this process."""
        return self.task_type, self.task_id

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        task_type = task_type if task_type is not None else self.task_type
        task_id = task_id if task_id is not None else self.task_id
        return _with_layer(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)


class KubernetesClusterResolver(ClusterResolver):
    """The pods that have certain labels: {job: ["label=value", ...]}. Needs the package kubernetes, or a client of it."""

    def __init__(self, job_to_label_mapping=None, tf_server_port=8470, rpc_layer="grpc", override_client=None,
                 executable_location=None):
        if override_client is None:
            try:
                from kubernetes import client, config
            except ImportError:
                raise ImportError("The Kubernetes Python client must be installed to use KubernetesClusterResolver: "
                                  "pip install kubernetes") from None
            if executable_location == "off_cluster":
                config.load_kube_config()
            else:
                config.load_incluster_config()
            override_client = client.CoreV1Api()
        self._client, self._port, self.rpc_layer = override_client, tf_server_port, rpc_layer
        self._labels = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}

    def cluster_spec(self):
        jobs = {}
        for job, selectors in self._labels.items():
            pods = [pod for selector in selectors
                    for pod in self._client.list_pod_for_all_namespaces(label_selector=selector).items]
            for pod in sorted(pods, key=lambda pod: pod.metadata.name):
                if pod.status.phase != "Running":
                    raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
                jobs.setdefault(job, []).append(f"{pod.status.host_ip}:{self._port}")
        return ClusterSpec(jobs)

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        task_type = task_type if task_type is not None else self.task_type
        task_id = task_id if task_id is not None else self.task_id
        if task_type is None or task_id is None:
            return ""
        return _with_layer(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)
