"""A pod source: its pods stand in its own configuration.

Configuration: {"pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hello"}, …}, …]}.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import PollResult, Snapshot, Snapshot_Empty, Snapshot_Pods, Snapshot_Unchanged, SourceError

from witlet import Fields, fingerprint, in_words


def manifests(config: str) -> list[str]:
    """The pods of the configuration as JSON. Raises ValueError in words for the operator."""
    with Fields.parse(config) as fields:
        pods = fields.items("pods")
    for index, pod in enumerate(pods):
        match pod:
            case {"kind": "Pod", "metadata": {"name": str()}}:
                pass
            case _:
                raise fields.invalid(f"pods[{index}]", "an object of kind Pod with metadata.name is needed")
    return [json.dumps(pod) for pod in pods]


class Source(exports.Source):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        with in_words():
            manifests(config)

    def poll(self, cursor: str | None) -> PollResult:
        try:
            pods = manifests(configuration.get())
        except ValueError as error:
            # An error is never "no pods": those of the last poll go on.
            raise Err(SourceError("Invalid", str(error), None)) from error
        # What the host hands to the next poll.
        now = fingerprint(pods)
        snapshot: Snapshot
        if now == cursor:
            snapshot = Snapshot_Unchanged()
        elif pods:
            snapshot = Snapshot_Pods(pods)
        else:
            snapshot = Snapshot_Empty()
        log.write(log.Level.DEBUG, "polled", [("pods", str(len(pods))), ("snapshot", type(snapshot).__name__)])
        return PollResult(snapshot, now, None)
