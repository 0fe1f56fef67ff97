"""Manifests in the host's place, for unit tests of handlers of contract 0.2. No component has this module, because `app` doesn't import it.

    facts = RequestFacts(PodFacts({"spec": {"containers": [{"name": "app", "image": "nginx:1.29"}]}}))
    assert Pinned().admit(facts) == reject("NotPinned", …)

They say what the host would: images taken apart, what counts of security contexts, amounts as numbers, what a pod counts for. Manifests
are taken as they are: that a field is misspelt is for the finished component's test (`witlet plugin test`), which has the host's own eyes.
"""

from .containers import ContainerFacts
from .images import ResolvedImageFacts
from .node import NodeFacts
from .pods import PodFacts
from .requests import RequestFacts, SetupFacts, loaded

__all__ = ["ContainerFacts", "NodeFacts", "PodFacts", "RequestFacts", "ResolvedImageFacts", "SetupFacts", "loaded"]
