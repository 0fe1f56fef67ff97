#include "connections.h"

#include "../bytes.h"

#define T(name) witlet_probe_connections_##name
/* The contract's bound of one read. */
#define READ_BYTES_MAX (64u << 10)

static const char *const nothing[] = {NULL};
const char *const *fake_sends = nothing;
char fake_written[4096];
const char *fake_server_name, *fake_host;
uint16_t fake_opened_port;
bool fake_is_shut_down;

/* How much of the next part was read. */
static size_t read_of_part;
static char server_name[256], host_name[256];

/* A text of the plugin's, kept. */
static const char *kept(const plugin_string_t *text, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.*s", WITLET_ARGS(fakes_given(text)));
    return buffer;
}

/* The error that comes next, if one does. */
static bool fails(T(own_error_t) * err)
{
    const char *part = *fake_sends;
    if (part == NULL || part[0] != '!')
        return false;
    fake_sends++;
    *err = fakes_error(part + 1, "the test has it fail");
    return true;
}

static bool open(T(own_connection_t) * ret, T(own_error_t) * err)
{
    read_of_part = 0;
    if (fails(err))
        return false;
    *ret = (T(own_connection_t)){fakes_make("connection", (witlet_text){NULL, 0}, (witlet_text){NULL, 0})};
    return true;
}

bool T(open)(T(borrow_target_t) target, plugin_string_t *host, uint16_t port, T(own_connection_t) * ret, T(own_error_t) * err)
{
    (void)target;
    fake_host = kept(host, host_name, sizeof host_name);
    fake_opened_port = port;
    return open(ret, err);
}

bool T(open_loopback)(T(borrow_target_t) target, uint16_t port, T(own_connection_t) * ret, T(own_error_t) * err)
{
    (void)target;
    fake_host = NULL;
    fake_opened_port = port;
    return open(ret, err);
}

bool T(method_connection_start_tls)(T(borrow_connection_t) self, plugin_string_t *name, T(own_error_t) * err)
{
    fakes_thing(self.__handle, "connection");
    if (fails(err))
        return false;
    fake_server_name = kept(name, server_name, sizeof server_name);
    return true;
}

bool T(method_connection_write)(T(borrow_connection_t) self, plugin_list_u8_t *bytes, T(own_error_t) * err)
{
    (void)err;
    fakes_thing(self.__handle, "connection");
    size_t before = strlen(fake_written), left = sizeof fake_written - 1 - before;
    size_t length = bytes->len < left ? bytes->len : left;
    if (length > 0)
        memcpy(fake_written + before, bytes->ptr, length);
    fake_written[before + length] = '\0';
    return true;
}

bool T(method_connection_read)(T(borrow_connection_t) self, uint64_t length, plugin_list_u8_t *ret, T(own_error_t) * err)
{
    fakes_thing(self.__handle, "connection");
    if (fails(err))
        return false;
    const char *part = *fake_sends != NULL ? *fake_sends : "";
    size_t left = strlen(part) - read_of_part;
    size_t most = length < READ_BYTES_MAX ? (size_t)length : READ_BYTES_MAX;
    witlet_text bytes = {part + read_of_part, left < most ? left : most};
    *ret = fakes_bytes(bytes);
    read_of_part += bytes.len;
    if (*fake_sends != NULL && part[read_of_part] == '\0') {
        fake_sends++;
        read_of_part = 0;
    }
    return true;
}

bool T(method_connection_shutdown)(T(borrow_connection_t) self, T(own_error_t) * err)
{
    (void)err;
    fakes_thing(self.__handle, "connection");
    fake_is_shut_down = true;
    return true;
}

/* None: what a server shows is for the finished component's test. */
void T(method_connection_peer_certificates)(T(borrow_connection_t) self, plugin_list_list_u8_t *ret)
{
    fakes_thing(self.__handle, "connection");
    *ret = (plugin_list_list_u8_t){NULL, 0};
}

void plugin_list_list_u8_free(plugin_list_list_u8_t *list)
{
    for (size_t i = 0; i < list->len; i++)
        plugin_list_u8_free(&list->ptr[i]);
    if (list->len > 0)
        free(list->ptr);
}

void T(connection_drop_own)(T(own_connection_t) handle)
{
    fakes_drop(handle.__handle, "connection");
}

T(borrow_connection_t) T(borrow_connection)(T(own_connection_t) handle)
{
    return (T(borrow_connection_t)){handle.__handle};
}
