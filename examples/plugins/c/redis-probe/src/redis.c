#include "redis.h"

plugin_string_t redis_auth(witlet_text password)
{
    char head[64];
    int head_length = snprintf(head, sizeof head, "*2\r\n$4\r\nAUTH\r\n$%zu\r\n", password.len);
    plugin_string_t command = {malloc((size_t)head_length + password.len + 2), 0};
    if (command.ptr == NULL)
        abort();
    const witlet_text parts[] = {{head, (size_t)head_length}, password, WITLET_TEXT("\r\n")};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].len > 0)
            memcpy(command.ptr + command.len, parts[i].ptr, parts[i].len);
        command.len += parts[i].len;
    }
    return command;
}

witlet_text redis_password(witlet_text secret)
{
    if (witlet_ends_with(secret, WITLET_TEXT("\n")))
        secret.len--;
    if (witlet_ends_with(secret, WITLET_TEXT("\r")))
        secret.len--;
    return secret;
}

bool redis_line(witlet_text received, witlet_text *line)
{
    for (size_t i = 1; i < received.len; i++) {
        if (received.ptr[i - 1] == '\r' && received.ptr[i] == '\n') {
            *line = (witlet_text){received.ptr, i - 1};
            return true;
        }
    }
    return false;
}

bool redis_is(witlet_text line, witlet_text expected, plugin_string_t *detail)
{
    if (witlet_equal(line, expected))
        return true;
    plugin_string_t shown = witlet_copy_lossy(line);
    if (witlet_starts_with(line, WITLET_TEXT("-")))
        *detail = witlet_copy((witlet_text){(const char *)shown.ptr + 1, shown.len - 1});
    else
        *detail = witlet_format("unexpected answer \"%.*s\"", WITLET_ARGS(witlet_view(shown)));
    plugin_string_free(&shown);
    return false;
}
