"""References to images, read as container runtimes read them."""

from dataclasses import dataclass
from typing import Self

DEFAULT_REGISTRY = "docker.io"


@dataclass(frozen=True)
class Reference:
    """What of a reference the policy checks."""

    place: str
    """Registry and repository, such as `docker.io/library/nginx`."""
    pinned: bool
    """Whether a SHA-256 digest names the image."""

    @classmethod
    def parse(cls, image: str) -> Self:
        name, _, digest = image.partition("@")
        first, slash, rest = name.partition("/")
        if slash and is_registry(first):
            registry, repository = first, rest
        else:
            registry, repository = DEFAULT_REGISTRY, name if slash else f"library/{name}"
        return cls(f"{registry}/{without_tag(repository)}", digest.startswith("sha256:"))

    def is_in(self, place: str) -> bool:
        """Whether `place`, a registry or the beginning of a path in it, is where this image is from."""
        return self.place == place or self.place.startswith(f"{place}/")


def is_registry(first: str) -> bool:
    return first == "localhost" or any(mark in first for mark in ".:") or first != first.lower()


def without_tag(repository: str) -> str:
    folders, slash, last = repository.rpartition("/")
    return folders + slash + last.partition(":")[0]
