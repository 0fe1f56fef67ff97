// TCP connections of a plugin, none of whose functions waits longer than a deadline. For worlds that import wasi:sockets, as that of
// the template of probes does; the grant is `network`.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "witlet.hpp"

namespace witlet::tcp {

// What is behind a connection: WASI's sockets (wasi/tcp.cpp), or what a unit test says (testing/tcp.cpp).
class Socket;

// A connection, which ends with its owner.
class Connection {
  public:
    // Connects to an IP address (IPv4 or IPv6, as text) within this time, which is the deadline of all that follows. Otherwise words such as
    // "connection refused".
    static Result<Connection> connect(std::string_view address, uint16_t port, std::chrono::milliseconds timeout);

    // Sends all bytes.
    Result<void> send(std::string_view bytes);

    // Waits for bytes, and receives as many as the buffer holds at most: how many, 0 once the peer has closed.
    Result<size_t> receive(std::span<char> buffer);

    Connection(Connection &&) noexcept;
    Connection &operator=(Connection &&) noexcept;
    ~Connection();

  private:
    explicit Connection(std::unique_ptr<Socket> socket);

    std::unique_ptr<Socket> socket_;
};

} // namespace witlet::tcp
