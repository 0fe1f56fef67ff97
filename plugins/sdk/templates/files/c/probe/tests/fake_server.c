/* Fakes of the plugin's connections (wasi/tcp.h). */
#include "fake_server.h"

static const char *const nothing[] = {NULL};
const char *const *fake_server = nothing;
int fake_connections;
int fake_port;

/* What the server does next; true unless it fails. */
static bool next(const char **part, plugin_string_t *error)
{
    *part = *fake_server;
    if (*part == NULL)
        return true;
    fake_server++;
    return (*part)[0] != '!' || witlet_fail(error, "%s", *part + 1);
}

bool tcp_connect(struct tcp *tcp, witlet_text address, uint16_t port, uint64_t milliseconds, plugin_string_t *error)
{
    (void)address;
    (void)milliseconds;
    *tcp = (struct tcp){.open = true};
    fake_connections++;
    fake_port = port;
    const char *part;
    if (*fake_server != NULL && (*fake_server)[0] == '!')
        return next(&part, error);
    return true;
}

bool tcp_receive(struct tcp *tcp, char *buffer, size_t size, size_t *received, plugin_string_t *error)
{
    (void)tcp;
    const char *part;
    if (!next(&part, error))
        return false;
    *received = part == NULL ? 0 : strlen(part);
    if (*received > size)
        *received = size;
    if (part != NULL)
        memcpy(buffer, part, *received);
    return true;
}

void tcp_close(struct tcp *tcp)
{
    if (tcp->open)
        fake_connections--;
    *tcp = (struct tcp){0};
}
