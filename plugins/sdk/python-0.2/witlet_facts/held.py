"""What facts have in common."""


class Held:
    """Facts are no handles: there is nothing to give back."""

    def __exit__(self, *_: object) -> None:
        return None
