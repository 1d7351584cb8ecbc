"""`Cluster`: the workers of a training, as TF_CONFIG names them."""

import json
import os
from dataclasses import dataclass
from typing import Any

from models_tf.errors import InputError

_VARIABLE = "TF_CONFIG"
CHIEF, WORKER = "chief", "worker"
_EXAMPLE = '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """This worker's `own` address and those of the `others`, each `host:port`."""

    own: str
    others: tuple[str, ...]
    is_chief: bool

    @classmethod
    def of_environment(cls) -> "Cluster":
        if not (text := os.environ.get(_VARIABLE)):
            raise InputError(
                f"--distribute workers needs {_VARIABLE} in the environment, such as {_EXAMPLE}. Received: none."
            )
        return cls.of(text)

    @classmethod
    def of(cls, text: str) -> "Cluster":
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _wrong(f"no JSON ({error})") from error
        cluster = found.get("cluster") if isinstance(found, dict) else None
        task = found.get("task") if isinstance(found, dict) else None
        if not isinstance(cluster, dict) or not isinstance(task, dict):
            raise _wrong("cluster or task missing")
        if odd := set(cluster) - {CHIEF, WORKER}:
            raise _wrong(f"a cluster with {min(odd)!r}; only chief and worker train")
        for name, hosts in cluster.items():
            if not isinstance(hosts, list) or not all(_is_address(host) for host in hosts):
                raise _wrong(f"{name} is not a list of host:port")
        kind, index = task.get("type"), task.get("index")
        if not isinstance(kind, str) or kind not in cluster or type(index) is not int:
            raise _wrong("a task without the type and index of one of the cluster")
        if not 0 <= index < len(cluster[kind]):
            raise _wrong(f"index {index}, where {kind} has {len(cluster[kind])}")
        if len(cluster.get(CHIEF, [])) > 1:
            raise _wrong(f"{len(cluster[CHIEF])} chiefs")
        own = cluster[kind][index]
        everyone = [host for name in (CHIEF, WORKER) for host in cluster.get(name, [])]
        if len(set(everyone)) < len(everyone):
            raise _wrong("one address twice")
        return cls(own=own, others=tuple(host for host in everyone if host != own), is_chief=own == everyone[0])


def _is_address(host: Any) -> bool:
    if not isinstance(host, str):
        return False
    name, _, port = host.rpartition(":")
    return name != "" and port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 1 << 16


def _wrong(received: str) -> InputError:
    return InputError(f"{_VARIABLE} must be like {_EXAMPLE}. Received: {received}.")
