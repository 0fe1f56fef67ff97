#include "tcp.h"

#include <arpa/inet.h>

static const char *error_words(wasi_sockets_network_error_code_t code)
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

/* Waits until something is ready, and takes its handle. False when the deadline was earlier. */
static bool wait_for(wasi_io_poll_own_pollable_t pollable, uint64_t deadline)
{
    wasi_io_poll_own_pollable_t timer = wasi_clocks_monotonic_clock_subscribe_instant(deadline);
    wasi_io_poll_borrow_pollable_t both[] = {wasi_io_poll_borrow_pollable(pollable), wasi_io_poll_borrow_pollable(timer)};
    wasi_io_poll_list_borrow_pollable_t list = {both, 2};
    plugin_list_u32_t ready;
    wasi_io_poll_poll(&list, &ready);
    bool in_time = false;
    for (size_t i = 0; i < ready.len; i++)
        in_time |= ready.ptr[i] == 0;
    plugin_list_u32_free(&ready);
    wasi_io_poll_pollable_drop_own(timer);
    wasi_io_poll_pollable_drop_own(pollable);
    return in_time;
}

/* Reads an address; false if it is none. */
static bool parse_address(witlet_text text, uint16_t port, wasi_sockets_network_ip_socket_address_t *address)
{
    char terminated[INET6_ADDRSTRLEN];
    if (text.len >= sizeof terminated)
        return false;
    memcpy(terminated, text.ptr, text.len);
    terminated[text.len] = '\0';

    uint8_t b[16];
    *address = (wasi_sockets_network_ip_socket_address_t){0};
    if (inet_pton(AF_INET, terminated, b) == 1) {
        address->tag = WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV4;
        address->val.ipv4.port = port;
        address->val.ipv4.address = (wasi_sockets_network_ipv4_address_t){b[0], b[1], b[2], b[3]};
        return true;
    }
    if (inet_pton(AF_INET6, terminated, b) == 1) {
        uint16_t words[8];
        for (size_t i = 0; i < 8; i++)
            words[i] = (uint16_t)(b[2 * i] << 8 | b[2 * i + 1]);
        address->tag = WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV6;
        address->val.ipv6.port = port;
        address->val.ipv6.address = (wasi_sockets_network_ipv6_address_t){
            words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
        return true;
    }
    return false;
}

/* Starts to connect; `tcp->open` afterwards says whether there is a socket. */
static bool start(struct tcp *tcp, wasi_sockets_network_ip_socket_address_t *address,
                  wasi_sockets_network_error_code_t *code)
{
    uint8_t family = address->tag == WASI_SOCKETS_NETWORK_IP_SOCKET_ADDRESS_IPV4
                         ? WASI_SOCKETS_NETWORK_IP_ADDRESS_FAMILY_IPV4
                         : WASI_SOCKETS_NETWORK_IP_ADDRESS_FAMILY_IPV6;
    if (!wasi_sockets_tcp_create_socket_create_tcp_socket(family, &tcp->socket, code))
        return false;
    tcp->open = true;
    wasi_sockets_network_own_network_t network = wasi_sockets_instance_network_instance_network();
    bool started = wasi_sockets_tcp_method_tcp_socket_start_connect(wasi_sockets_tcp_borrow_tcp_socket(tcp->socket),
                                                                    wasi_sockets_network_borrow_network(network), address, code);
    wasi_sockets_network_network_drop_own(network);
    return started;
}

bool tcp_connect(struct tcp *tcp, witlet_text address, uint16_t port, uint64_t milliseconds, plugin_string_t *error)
{
    *tcp = (struct tcp){.deadline = wasi_clocks_monotonic_clock_now() + milliseconds * 1000000};
    wasi_sockets_network_ip_socket_address_t remote;
    if (!parse_address(address, port, &remote))
        return witlet_fail(error, "\"%.*s\" is no IP address", WITLET_ARGS(address));

    wasi_sockets_network_error_code_t code;
    if (!start(tcp, &remote, &code))
        return witlet_fail(error, "%s", error_words(code));
    wasi_sockets_tcp_borrow_tcp_socket_t socket = wasi_sockets_tcp_borrow_tcp_socket(tcp->socket);
    wasi_sockets_tcp_tuple2_own_input_stream_own_output_stream_t streams;
    while (!wasi_sockets_tcp_method_tcp_socket_finish_connect(socket, &streams, &code)) {
        if (code != WASI_SOCKETS_NETWORK_ERROR_CODE_WOULD_BLOCK)
            return witlet_fail(error, "%s", error_words(code));
        if (!wait_for(wasi_sockets_tcp_method_tcp_socket_subscribe(socket), tcp->deadline))
            return witlet_fail(error, "no connection in time");
    }
    tcp->input = streams.f0;
    tcp->output = streams.f1;
    tcp->streams_open = true;
    return true;
}

/* The words for a stream that failed; drops the error's handle, which the bindings' `_free` doesn't. */
static bool stream_failed(wasi_io_streams_stream_error_t *failure, plugin_string_t *error)
{
    if (failure->tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED)
        return witlet_fail(error, "the connection is closed");
    wasi_io_error_own_error_t cause = failure->val.last_operation_failed;
    plugin_string_t words;
    wasi_io_error_method_error_to_debug_string(wasi_io_error_borrow_error(cause), &words);
    wasi_io_error_error_drop_own(cause);
    witlet_fail(error, "the connection failed: %.*s", WITLET_ARGS(witlet_view(words)));
    plugin_string_free(&words);
    return false;
}

bool tcp_send(struct tcp *tcp, witlet_text bytes, plugin_string_t *error)
{
    wasi_io_streams_borrow_output_stream_t output = wasi_io_streams_borrow_output_stream(tcp->output);
    wasi_io_streams_stream_error_t failure;
    while (bytes.len > 0) {
        uint64_t capacity;
        if (!wasi_io_streams_method_output_stream_check_write(output, &capacity, &failure))
            return stream_failed(&failure, error);
        if (capacity == 0) {
            if (!wait_for(wasi_io_streams_method_output_stream_subscribe(output), tcp->deadline))
                return witlet_fail(error, "not everything could be sent in time");
            continue;
        }
        plugin_list_u8_t part = {(uint8_t *)(uintptr_t)bytes.ptr, bytes.len < capacity ? bytes.len : (size_t)capacity};
        if (!wasi_io_streams_method_output_stream_write(output, &part, &failure))
            return stream_failed(&failure, error);
        bytes = (witlet_text){bytes.ptr + part.len, bytes.len - part.len};
    }
    return true;
}

bool tcp_receive(struct tcp *tcp, char *buffer, size_t size, size_t *received, plugin_string_t *error)
{
    wasi_io_streams_borrow_input_stream_t input = wasi_io_streams_borrow_input_stream(tcp->input);
    *received = 0;
    for (;;) {
        plugin_list_u8_t bytes;
        wasi_io_streams_stream_error_t failure;
        if (!wasi_io_streams_method_input_stream_read(input, size, &bytes, &failure))
            return failure.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED || stream_failed(&failure, error);
        if (bytes.len > 0) {
            /* The host gives what was asked for at most. */
            *received = bytes.len;
            memcpy(buffer, bytes.ptr, bytes.len);
            plugin_list_u8_free(&bytes);
            return true;
        }
        if (!wait_for(wasi_io_streams_method_input_stream_subscribe(input), tcp->deadline))
            return witlet_fail(error, "no answer in time");
    }
}

void tcp_close(struct tcp *tcp)
{
    /* Streams are children of their socket and must go first. */
    if (tcp->streams_open) {
        wasi_io_streams_input_stream_drop_own(tcp->input);
        wasi_io_streams_output_stream_drop_own(tcp->output);
    }
    if (tcp->open)
        wasi_sockets_tcp_tcp_socket_drop_own(tcp->socket);
    *tcp = (struct tcp){0};
}
