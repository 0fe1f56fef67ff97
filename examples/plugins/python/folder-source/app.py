"""A pod source: every file NAME.json of a folder is one pod.

Configuration: {"folder": "/pods"}, a folder that the grant `files` gives the plugin.
"""

from pathlib import Path

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as configuration
from wit_world.imports import log
from wit_world.imports.types import PollResult, Snapshot, Snapshot_Empty, Snapshot_Pods, Snapshot_Unchanged, SourceError

import folder
from folder import Invalid, Unreadable
from witlet import Fields, in_words


def parse(config: str) -> Path:
    """The folder that the configuration names. Raises ValueError in words for the operator."""
    with Fields.parse(config) as fields:
        path = fields.text("folder")
    if not path.startswith("/"):
        raise fields.invalid("folder", "must be an absolute path")
    return Path(path)


def scan(path: Path, cursor: str | None) -> PollResult:
    """What the folder has now. Raises Unreadable and Invalid."""
    files = folder.read(path)
    now = folder.fingerprint(files)
    snapshot: Snapshot
    if now == cursor:
        snapshot = Snapshot_Unchanged()
    elif files:
        snapshot = Snapshot_Pods([folder.manifest(name, text) for name, text in files.items()])
    else:
        snapshot = Snapshot_Empty()
    return PollResult(snapshot, now, None)


class Source(exports.Source):
    """What the host calls. An exception other than Err is a trap: it counts as a failure of the plugin."""

    def validate(self, config: str) -> None:
        with in_words():
            parse(config)

    def poll(self, cursor: str | None) -> PollResult:
        try:
            result = scan(parse(configuration.get()), cursor)
        except Unreadable as error:
            # An error is never "no pods": those of the last good poll go on.
            raise Err(SourceError("Unavailable", str(error), None)) from error
        except Invalid as error:
            raise Err(SourceError("Invalid", str(error), None)) from error
        log.write(log.Level.DEBUG, "checked", [("snapshot", type(result.snapshot).__name__)])
        return result
