"""What pods and containers count for, and the class of service."""

from typing import Any, Final

from witlet import Invalid, quantity

from . import values

Amounts = dict[str, int]
_AMOUNT_MAX: Final = (1 << 63) - 1


def amounts(value: Any) -> Amounts:
    return {name: _amount(name, text) for name, text in value.items()} if isinstance(value, dict) else {}


def _amount(name: str, value: Any) -> int:
    """`cpu` in thousandths, all else in base units. What is no quantity is 0, as it is for the host."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return 0
    try:
        return max(-_AMOUNT_MAX - 1, min(_AMOUNT_MAX, quantity(str(value), 1000 if name == "cpu" else 1)))
    except Invalid:
        return 0


def add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = min(_AMOUNT_MAX, total.get(name, 0) + amount)


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        total[name] = max(amount, total.get(name, amount))


def is_sidecar(container: Any) -> bool:
    return bool(values.get(container, "restartPolicy") == "Always")


def of_pod(spec: Any, part: str) -> Amounts:
    """By the scheduler's rules: the greater of what containers and sidecars have together and what each init container has while it
    runs; what the pod as a whole states goes before that, overhead comes on top."""
    total: Amounts = {}
    for container in values.items(values.get(spec, "containers")):
        add(total, amounts(values.get(container, "resources", part)))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in values.items(values.get(spec, "initContainers")):
        needed = amounts(values.get(container, "resources", part))
        if is_sidecar(container):
            add(total, needed)
            add(sidecars, needed)
            needed = dict(sidecars)
        else:
            add(needed, sidecars)
        _raise(starting, needed)
    _raise(total, starting)
    stated = amounts(values.get(spec, "resources", part))
    total.update({name: amount for name, amount in stated.items() if name in ("cpu", "memory") or name.startswith("hugepages-")})
    overhead = amounts(values.get(spec, "overhead"))
    # Only what is limited is limited to more.
    add(total, {name: amount for name, amount in overhead.items() if part != "limits" or total.get(name)})
    return total


def qos(manifest: Any) -> str:
    settled = values.get(manifest, "status", "qosClass")
    if settled in ("Guaranteed", "Burstable", "BestEffort"):
        return values.text(settled)
    spec = values.get(manifest, "spec")
    of_pod = values.get(spec, "resources")
    is_stated = any(amounts(values.get(of_pod, part)) for part in ("requests", "limits"))
    containers = [container for name in ("containers", "initContainers") for container in values.items(values.get(spec, name))]
    requests: Amounts = {}
    limits: Amounts = {}
    all_limited = True
    for resources in [of_pod] if is_stated else [values.get(container, "resources") for container in containers]:
        counted = {
            part: {name: amount for name, amount in amounts(values.get(resources, part)).items() if name in ("cpu", "memory") and amount > 0}
            for part in ("requests", "limits")
        }
        all_limited &= len(counted["limits"]) == 2
        add(requests, counted["requests"])
        add(limits, counted["limits"])
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and requests == limits else "Burstable"
