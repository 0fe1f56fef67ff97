// Connections, on the server that a test has made up.
#include "../tcp.hpp"

#include "tcp.hpp"

using witlet::testing::host;
using witlet::testing::server;

namespace witlet::tcp {

class Socket {
  public:
    Socket() { host.held++; }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;
    ~Socket() { host.held--; }
};

namespace {

// The words of the failure that comes next, if one does.
std::optional<std::string> next_failure()
{
    if (server.sends.empty() || !server.sends.front().starts_with('!'))
        return std::nullopt;
    std::string words = server.sends.front().substr(1);
    server.sends.pop_front();
    return words;
}

} // namespace

Result<Connection> Connection::connect(std::string_view address, uint16_t port, std::chrono::milliseconds)
{
    server.address = address;
    server.port = port;
    if (std::optional<std::string> words = next_failure())
        return std::unexpected(*words);
    return Connection(std::make_unique<Socket>());
}

Result<void> Connection::send(std::string_view bytes)
{
    server.received += bytes;
    return {};
}

Result<size_t> Connection::receive(std::span<char> buffer)
{
    if (std::optional<std::string> words = next_failure())
        return std::unexpected(*words);
    if (server.sends.empty())
        return size_t(0);
    std::string &part = server.sends.front();
    size_t received = part.copy(buffer.data(), buffer.size());
    part.erase(0, received);
    if (part.empty())
        server.sends.pop_front();
    return received;
}

Connection::Connection(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
Connection::Connection(Connection &&) noexcept = default;
Connection &Connection::operator=(Connection &&) noexcept = default;
Connection::~Connection() = default;

} // namespace witlet::tcp
