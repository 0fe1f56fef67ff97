"""Where images come from, and how they are pinned: those of all containers and of image volumes."""

import json

from wit_world.imports.admission_types import Image, Request, Setup

from witlet_admission import AdmissionHandler, Verdict, admit, invalid, is_within, reject_first, shown


class AllowedRegistries(AdmissionHandler):
    """Images come from these places: registries, or registries with the beginning of a path. What is in no registry doesn't."""

    allow: list[str]

    def validate(self, setup: Setup) -> None:
        if not self.allow:
            raise invalid("allow", "name one place at least")
        for place in self.allow:
            if not place or place.startswith("/") or place.endswith("/"):
                raise invalid("allow", f"{json.dumps(place)} is no registry, nor a path of one")

    def admit(self, request: Request) -> Verdict:
        images = request.pod().images()
        foreign = (image for image in images if not any(is_within(image, place) for place in self.allow))
        return reject_first("ImageNotAllowed", (f"{shown(image)} doesn't come from {' or '.join(self.allow)}" for image in foreign))


class NoLatestTag(AdmissionHandler):
    """No image has the tag `latest`, which is also that of images that name no tag; a digest outweighs it."""

    def admit(self, request: Request) -> Verdict:
        latest = (image for image in request.pod().images() if image.digest() is None and image.tag() == "latest")
        return reject_first("LatestTag", (f"{shown(image)} may change at any time" for image in latest))


class DigestRequired(AdmissionHandler):
    """Every image has a digest."""

    def admit(self, request: Request) -> Verdict:
        unpinned = (image for image in request.pod().images() if image.digest() is None)
        return reject_first("ImageNotPinned", (f"{shown(image)} has no digest" for image in unpinned))


class PullPolicy(AdmissionHandler):
    """Containers state this pull policy, such as `Always`."""

    image_pull_policy: str

    def admit(self, request: Request) -> Verdict:
        policy = self.image_pull_policy
        others = (container for container in request.pod().containers() if container.pull_policy() != policy)
        return reject_first("PullPolicy", (f"{shown(container)} doesn't have the pull policy {policy}" for container in others))


class ImagesAtMost(AdmissionHandler):
    """A pod has at most so many different images."""

    count: int

    def admit(self, request: Request) -> Verdict:
        images = {image.name() for image in request.pod().images()}
        excess = [f"{len(images)} images are more than {self.count}"] if len(images) > self.count else []
        return reject_first("TooManyImages", excess)


class ImageUpdates(AdmissionHandler):
    """An image of a running pod is replaced by another tag or digest of its repository only."""

    subscribes = ("update",)

    def admit(self, request: Request) -> Verdict:
        old = request.old_pod()
        if old is None:
            return admit()
        before = [repository(image) for image in old.images()]
        others = (image for image in request.pod().images() if repository(image) not in before)
        return reject_first("OtherImage", (f"{shown(image)} is no version of the image before" for image in others))


def repository(image: Image) -> tuple[str, str | None, str | None]:
    return image.place(), image.registry(), image.repository()
