"""Servers for the tests: each takes one client and follows a dialog."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def server(*dialog: tuple[bytes, bytes | None]) -> Iterator[int]:
    """A port of a server that waits for each question and sends its answer, then closes. None stands for an answer that
    never comes: the connection stays open until the test ends."""
    done = threading.Event()
    unexpected: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for question, answer in dialog:
                received = b""
                while len(received) < len(question) and (more := connection.recv(len(question) - len(received))):
                    received += more
                if received != question:
                    unexpected.append(received)
                elif answer is None:
                    done.wait()
                else:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()
    if unexpected:
        raise AssertionError(f"the server was asked {unexpected}")


def unused_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
