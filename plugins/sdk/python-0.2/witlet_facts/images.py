"""References to images, read as container runtimes read them."""

import re
from typing import Final

from wit_world.imports.admission_types import Container, Image, ResolvedImage

from .held import Held


_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_REGISTRY: Final = re.compile(rf"(?:\[[0-9a-fA-F:]+\]|{_LABEL}(?:\.{_LABEL})*)(?::[0-9]+)?")
_REPOSITORY: Final = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_REFERENCE_MAX: Final = 4096
_NAME_MAX: Final = 255


def _parse(image: str) -> tuple[str, str, str | None, str | None] | None:
    """Registry, repository, tag and digest, as container runtimes read them; None of what is in no registry."""
    is_blank = any(letter.isspace() or not letter.isprintable() for letter in image)
    if not image or len(image.encode()) > _REFERENCE_MAX or image.startswith("file:") or re.fullmatch("[0-9a-f]{64}", image) or is_blank:
        return None
    named, has_digest, digest = image.partition("@")
    folder, slash, last = named.rpartition("/")
    last, has_tag, tag = last.partition(":")
    first, has_rest, rest = f"{folder}{slash}{last}".partition("/")
    if has_rest and (first == "localhost" or re.search("[.:]", first) or first != first.lower()):
        registry, path = ("docker.io" if first == "index.docker.io" else first), rest
    else:
        registry, path = "docker.io", f"{folder}{slash}{last}"
    repository = f"library/{path}" if registry == "docker.io" and "/" not in path else path
    fits = (
        (not has_tag or _TAG.fullmatch(tag))
        and (not has_digest or _DIGEST.fullmatch(digest))
        and _REGISTRY.fullmatch(registry)
        and _REPOSITORY.fullmatch(repository)
        and len(registry) + 1 + len(repository) <= _NAME_MAX
    )
    return (registry, repository, tag or None, digest or None) if fits else None


class ImageFacts(Held, Image):
    def __init__(self, reference: str, place: str) -> None:
        self._reference, self._place, self._parts = reference, place, _parse(reference)

    def reference(self) -> str:
        return self._reference

    def place(self) -> str:
        return self._place

    def name(self) -> str:
        if self._parts is None:
            return self._reference
        registry, repository, _, digest = self._parts
        tag = self.tag()
        return f"{registry}/{repository}" + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")

    def registry(self) -> str | None:
        return self._parts and self._parts[0]

    def repository(self) -> str | None:
        return self._parts and self._parts[1]

    def tag(self) -> str | None:
        return self._parts and (self._parts[2] or (None if self._parts[3] else "latest"))

    def digest(self) -> str | None:
        return self._parts and self._parts[3]


class ResolvedImageFacts(Held, ResolvedImage):
    """The image that a container is to be started from."""

    def __init__(
        self, container: Container, id: str, *, digest: str | None = None, size: int | None = None, credentials: str | None = None
    ) -> None:
        self._container, self._id, self._digest, self._size, self._credentials = container, id, digest, size, credentials

    def container(self) -> Container:
        return self._container

    def id(self) -> str:
        return self._id

    def digest(self) -> str | None:
        return self._digest

    def size(self) -> int | None:
        return self._size

    def credentials(self) -> str | None:
        return self._credentials
