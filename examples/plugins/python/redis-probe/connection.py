"""Questions to a Redis server, and answers of one line."""

from witlet import Connection

PING = b"PING\r\n"


def auth(password: bytes) -> bytes:
    """AUTH as an array: the password may have any bytes."""
    return b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(password), password)


def ask(connection: Connection, question: bytes) -> str:
    """The line that the server answers with. Raises NoAnswer."""
    connection.send(question)
    return connection.line().decode(errors="replace")
