"""JSON of manifests: what is missing, or of another type, is nothing."""

import json
import re
from typing import Any


def get(value: Any, *path: str | int) -> Any:
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def flag(value: Any) -> bool:
    return value is True


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def pairs(value: Any) -> list[tuple[str, str]]:
    return sorted((key, text) for key, text in value.items() if isinstance(text, str)) if isinstance(value, dict) else []


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pointer(value: Any, path: str) -> str | None:
    if path and not path.startswith("/"):
        return None
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", key, re.ASCII) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return json_text(value)
