"""A pod source: its pods stand in its own configuration.

Configuration: {"pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hello"}, …}, …]}.
"""

import json
from typing import Any

from wit_world.imports import log
from wit_world.imports.source_types import Setup

from witlet import fingerprint
from witlet_source import PodSource, Poll, exported, invalid, pods, unchanged


class OwnPods(PodSource):
    """The pods of the configuration. The annotated names are the fields of `config:` in the plugin's entry."""

    pods: list[Any]

    def validate(self, setup: Setup) -> None:
        for index, pod in enumerate(self.pods):
            match pod:
                case {"kind": "Pod", "metadata": {"name": str()}}:
                    pass
                case _:
                    raise invalid(f"pods[{index}]", "an object of kind Pod with metadata.name is needed")

    def poll(self, cursor: str | None) -> Poll:
        # A source that can't find out what it has raises HandlerError("Unavailable", …), and never says "no pods": that would be the
        # end of all its pods.
        manifests = [json.dumps(pod) for pod in self.pods]
        # What the host hands to the next poll.
        now = fingerprint(manifests)
        answer = unchanged() if now == cursor else pods(manifests)
        log.write(log.Level.DEBUG, "polled", [("pods", str(len(manifests))), ("snapshot", answer.snapshot)])
        return answer.at(now)


# What the host calls. An exception other than HandlerError is a trap: it counts as a failure of the plugin.
Source = exported(OwnPods)
