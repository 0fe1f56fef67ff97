// Connections on WASI's sockets.
#include "tcp.hpp"

#ifdef WASI_SOCKETS_NETWORK_ERROR_CODE_UNKNOWN

#include <arpa/inet.h>

namespace witlet::tcp {

namespace {

using ErrorCode = wasi_sockets_network_error_code_t;
using Address = wasi_sockets_network_ip_socket_address_t;

std::string_view words(ErrorCode code)
{
    switch (code) {
    case WASI_SOCKETS_NETWORK_ERROR_CODE_ACCESS_DENIED:
        return "access denied: is the grant `network` there?";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_TIMEOUT:
        return "timed out";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_NEW_SOCKET_LIMIT:
        return "too many connections";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_REMOTE_UNREACHABLE:
        return "address unreachable";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_CONNECTION_REFUSED:
        return "connection refused";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_CONNECTION_RESET:
        return "connection reset";
    case WASI_SOCKETS_NETWORK_ERROR_CODE_CONNECTION_ABORTED:
        return "connection aborted";
    default:
        return "connection failed";
    }
}

// The words for a stream that failed, whose error is dropped.
std::unexpected<std::string> stream_failed(const wasi_io_streams_stream_error_t &failure)
{
    if (failure.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED)
        return fail("the connection is closed");
    wasi_io_error_own_error_t cause = failure.val.last_operation_failed;
    std::string text = detail::get(wasi_io_error_method_error_to_debug_string, wasi_io_error_borrow_error(cause));
    wasi_io_error_error_drop_own(cause);
    return fail("the connection failed: ", text);
}

std::optional<Address> parse(std::string_view text, uint16_t port)
{
    std::string terminated(text);
    uint8_t b[16];
    Address address = {};
    if (inet_pton(AF_INET, terminated.c_str(), b) == 1) {
        address.tag = WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV4;
        address.val.ipv4 = {port, {b[0], b[1], b[2], b[3]}};
        return address;
    }
    if (inet_pton(AF_INET6, terminated.c_str(), b) == 1) {
        auto word = [&](int at) { return static_cast<uint16_t>(b[2 * at] << 8 | b[2 * at + 1]); };
        address.tag = WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV6;
        address.val.ipv6 = {port, 0, {word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)}, 0};
        return address;
    }
    return std::nullopt;
}

} // namespace

class Socket {
  public:
    explicit Socket(std::chrono::milliseconds timeout)
        : deadline_(wasi_clocks_monotonic_clock_now() +
                    static_cast<uint64_t>(std::chrono::nanoseconds(std::max(timeout, {})).count()))
    {
    }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    ~Socket()
    {
        // Streams are children of their socket and must go first.
        if (streams_) {
            wasi_io_streams_input_stream_drop_own(streams_->f0);
            wasi_io_streams_output_stream_drop_own(streams_->f1);
        }
        if (socket_)
            wasi_sockets_tcp_tcp_socket_drop_own(*socket_);
    }

    Result<void> connect(Address address)
    {
        ErrorCode code;
        if (!start(address, &code))
            return fail(words(code));
        auto socket = wasi_sockets_tcp_borrow_tcp_socket(*socket_);
        wasi_sockets_tcp_tuple2_own_input_stream_own_output_stream_t streams;
        while (!wasi_sockets_tcp_method_tcp_socket_finish_connect(socket, &streams, &code)) {
            if (code != WASI_SOCKETS_NETWORK_ERROR_CODE_WOULD_BLOCK)
                return fail(words(code));
            if (!wait_for(wasi_sockets_tcp_method_tcp_socket_subscribe(socket)))
                return fail("no connection in time");
        }
        streams_ = streams;
        return {};
    }

    Result<void> send(std::string_view bytes)
    {
        auto output = wasi_io_streams_borrow_output_stream(streams_->f1);
        wasi_io_streams_stream_error_t failure;
        while (!bytes.empty()) {
            uint64_t capacity;
            if (!wasi_io_streams_method_output_stream_check_write(output, &capacity, &failure))
                return stream_failed(failure);
            if (capacity == 0) {
                if (!wait_for(wasi_io_streams_method_output_stream_subscribe(output)))
                    return fail("not everything could be sent in time");
                continue;
            }
            std::string_view part = bytes.substr(0, std::min<uint64_t>(capacity, bytes.size()));
            plugin_list_u8_t list = {reinterpret_cast<uint8_t *>(const_cast<char *>(part.data())), part.size()};
            if (!wasi_io_streams_method_output_stream_write(output, &list, &failure))
                return stream_failed(failure);
            bytes.remove_prefix(part.size());
        }
        return {};
    }

    Result<size_t> receive(std::span<char> buffer)
    {
        auto input = wasi_io_streams_borrow_input_stream(streams_->f0);
        for (;;) {
            plugin_list_u8_t list;
            wasi_io_streams_stream_error_t failure;
            if (!wasi_io_streams_method_input_stream_read(input, buffer.size(), &list, &failure)) {
                if (failure.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED)
                    return size_t(0);
                return stream_failed(failure);
            }
            if (list.len > 0) {
                // The host gives what was asked for at most.
                std::string bytes = detail::take(list);
                return bytes.copy(buffer.data(), buffer.size());
            }
            if (!wait_for(wasi_io_streams_method_input_stream_subscribe(input)))
                return fail("no answer in time");
        }
    }

  private:
    // Starts to connect; there is a socket afterwards that ends with this one, unless there was none to be had.
    bool start(Address &address, ErrorCode *code)
    {
        uint8_t family = address.tag == WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV4
                             ? WASI_SOCKETS_NETWORK_IP_ADDRESS_FAMILY_IPV4
                             : WASI_SOCKETS_NETWORK_IP_ADDRESS_FAMILY_IPV6;
        wasi_sockets_tcp_own_tcp_socket_t socket;
        if (!wasi_sockets_tcp_create_socket_create_tcp_socket(family, &socket, code))
            return false;
        socket_ = socket;
        auto network = wasi_sockets_instance_network_instance_network();
        bool started = wasi_sockets_tcp_method_tcp_socket_start_connect(wasi_sockets_tcp_borrow_tcp_socket(socket),
                                                                        wasi_sockets_network_borrow_network(network), &address, code);
        wasi_sockets_network_network_drop_own(network);
        return started;
    }

    // Waits until something is ready, and drops its handle. False when the deadline was earlier.
    bool wait_for(wasi_io_poll_own_pollable_t pollable) const
    {
        auto timer = wasi_clocks_monotonic_clock_subscribe_instant(deadline_);
        wasi_io_poll_borrow_pollable_t both[] = {wasi_io_poll_borrow_pollable(pollable), wasi_io_poll_borrow_pollable(timer)};
        wasi_io_poll_list_borrow_pollable_t list = {both, 2};
        plugin_list_u32_t ready;
        wasi_io_poll_poll(&list, &ready);
        bool in_time = false;
        for (uint32_t which : detail::take_list(ready, [](uint32_t item) { return item; }))
            in_time |= which == 0;
        wasi_io_poll_pollable_drop_own(timer);
        wasi_io_poll_pollable_drop_own(pollable);
        return in_time;
    }

    // On the monotonic clock, in nanoseconds.
    uint64_t deadline_;
    std::optional<wasi_sockets_tcp_own_tcp_socket_t> socket_;
    std::optional<wasi_sockets_tcp_tuple2_own_input_stream_own_output_stream_t> streams_;
};

Result<Connection> Connection::connect(std::string_view address, uint16_t port, std::chrono::milliseconds timeout)
{
    std::optional<Address> remote = parse(address, port);
    if (!remote)
        return fail("\"", address, "\" is no IP address");
    auto socket = std::make_unique<Socket>(timeout);
    if (Result<void> connected = socket->connect(*remote); !connected)
        return std::unexpected(connected.error());
    return Connection(std::move(socket));
}

Result<void> Connection::send(std::string_view bytes)
{
    return socket_->send(bytes);
}

Result<size_t> Connection::receive(std::span<char> buffer)
{
    return socket_->receive(buffer);
}

Connection::Connection(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
Connection::Connection(Connection &&) noexcept = default;
Connection &Connection::operator=(Connection &&) noexcept = default;
Connection::~Connection() = default;

} // namespace witlet::tcp

#endif
