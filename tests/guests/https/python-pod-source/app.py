"""A pod source that has the pod whose manifest a server answers."""

from witlet import NoAnswer, fingerprint
from witlet_http import request, within
from witlet_source import HandlerError, PodSource, Poll, exported, pods, unchanged

SECONDS = 5
MANIFEST_BYTES_MAX = 1 << 20


class Https(PodSource):
    url: str

    def poll(self, cursor: str | None) -> Poll:
        try:
            response = request(self.url, within(SECONDS), body_bytes_max=MANIFEST_BYTES_MAX)
        except NoAnswer as error:
            raise HandlerError("Unavailable", str(error)) from error
        if response.status not in (200, 204):
            raise HandlerError("Unavailable", f"the server answers {response.status}")
        manifests = [response.body.decode(errors="replace")] if response.status == 200 else []
        now = fingerprint(manifests)
        return (unchanged() if now == cursor else pods(manifests)).at(now)


Source = exported(Https)
