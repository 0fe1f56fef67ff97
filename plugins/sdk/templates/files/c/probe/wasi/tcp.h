/* TCP connections of a plugin, on WASI's sockets, none of whose functions waits longer than a deadline. */
#ifndef TCP_H
#define TCP_H

#include "witlet.h"

/* A connection, or none: one that begins as `{0}` may be closed at any time. */
struct tcp {
    bool open, streams_open;
    wasi_sockets_tcp_own_tcp_socket_t socket;
    wasi_io_streams_own_input_stream_t input;
    wasi_io_streams_own_output_stream_t output;
    /* On the monotonic clock, in nanoseconds. */
    uint64_t deadline;
};

/* Connects to an IP address (IPv4 or IPv6, as text) within so many milliseconds, which are the deadline of all that follows. False with
 * an owned `error` such as "connection refused". Close `tcp` in either case. */
bool tcp_connect(struct tcp *tcp, witlet_text address, uint16_t port, uint64_t milliseconds, plugin_string_t *error);

/* Sends all bytes. False with an owned `error`. */
bool tcp_send(struct tcp *tcp, witlet_text bytes, plugin_string_t *error);

/* Waits for bytes, and receives `size` of them at most. The number is in `received`: 0 once the peer has closed. False with an
 * owned `error`. */
bool tcp_receive(struct tcp *tcp, char *buffer, size_t size, size_t *received, plugin_string_t *error);

/* Ends the connection and frees what belongs to it. */
void tcp_close(struct tcp *tcp);

#endif
