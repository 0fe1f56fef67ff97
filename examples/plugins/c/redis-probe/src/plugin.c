/* The exports of `witlet:probe/prober`: what the host calls. */
#include "redis.h"
#include "settings.h"
#include "tcp.h"

bool exports_witlet_probe_prober_validate(plugin_string_t *config, plugin_string_t *err)
{
    plugin_string_t secret;
    bool good = config_read(witlet_view(*config), &secret, err);
    if (good)
        plugin_string_free(&secret);
    plugin_string_free(config);
    return good;
}

bool exports_witlet_probe_prober_check_parameters(plugin_string_t *parameters, plugin_string_t *err)
{
    uint16_t port;
    bool good = parameters_read(witlet_view(*parameters), &port, err);
    plugin_string_free(parameters);
    return good;
}

/* Sends a command and waits for the answer that is expected. Otherwise `detail` is an owned text that says what came. */
static bool ask(struct tcp *tcp, witlet_text command, witlet_text expected, plugin_string_t *detail)
{
    if (!tcp_send(tcp, command, detail))
        return false;
    char buffer[LINE_MAX_BYTES + 2];
    size_t length = 0, received;
    witlet_text line;
    while (!redis_line((witlet_text){buffer, length}, &line)) {
        if (length == sizeof buffer)
            return witlet_fail(detail, "the answer is longer than %d bytes", LINE_MAX_BYTES);
        if (!tcp_receive(tcp, buffer + length, sizeof buffer - length, &received, detail))
            return false;
        if (received == 0)
            return witlet_fail(detail, "the server closed the connection before it had answered");
        length += received;
    }
    return redis_is(line, expected, detail);
}

/* The dialog of a probe; `password` is NULL where none is needed. */
static bool talk(struct tcp *tcp, const witlet_text *password, plugin_string_t *detail)
{
    if (password != NULL) {
        plugin_string_t command = redis_auth(*password);
        bool good = ask(tcp, witlet_view(command), WITLET_TEXT("+OK"), detail);
        plugin_string_free(&command);
        if (!good)
            return false;
    }
    return ask(tcp, WITLET_TEXT("PING\r\n"), WITLET_TEXT("+PONG"), detail);
}

/* The outcome of one probe of the target's first address. */
static witlet_probe_types_outcome_t check(witlet_probe_types_borrow_target_t target, uint16_t port,
                                         const witlet_text *password)
{
    plugin_list_string_t addresses;
    witlet_probe_types_method_target_pod_ips(target, &addresses);
    if (addresses.len == 0)
        return witlet_failure(witlet_copy(WITLET_TEXT("the pod has no address")));

    /* A tenth of the time is left, so that it is us who say what took too long. */
    uint64_t remaining = witlet_probe_types_method_target_remaining_milliseconds(target);
    struct tcp tcp;
    plugin_string_t detail;
    bool good = tcp_connect(&tcp, witlet_view(addresses.ptr[0]), port, remaining - remaining / 10, &detail) &&
                talk(&tcp, password, &detail);
    tcp_close(&tcp);
    plugin_list_string_free(&addresses);
    return good ? witlet_success(witlet_copy(WITLET_TEXT("PONG"))) : witlet_failure(detail);
}

/* The value of the secret that the configuration names, if it names one: owned. Its absence says nothing about the server: it is
 * an error, and no failure. */
static bool find_password(bool *is_some, plugin_list_u8_t *secret, plugin_string_t *error)
{
    plugin_string_t config, name;
    witlet_host_config_get(&config);
    bool good = config_read(witlet_view(config), &name, error);
    plugin_string_free(&config);
    if (!good)
        return false;
    *is_some = name.len > 0;
    if (*is_some) {
        witlet_host_secret_secret_error_t why;
        good = witlet_host_secret_get(&name, secret, &why);
        if (!good)
            witlet_fail(error, "secret \"%.*s\" %s", WITLET_ARGS(witlet_view(name)),
                        why == WITLET_HOST_SECRET_SECRET_ERROR_NOT_GRANTED ? "isn't granted" : "isn't on this node");
    }
    plugin_string_free(&name);
    return good;
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *parameters,
                                       exports_witlet_probe_prober_outcome_t *ret, plugin_string_t *err)
{
    uint16_t port;
    bool good = parameters_read(witlet_view(*parameters), &port, err);
    plugin_string_free(parameters);
    bool with_password;
    plugin_list_u8_t secret;
    if (!good || !find_password(&with_password, &secret, err))
        return false;
    if (!with_password) {
        *ret = check(target, port, NULL);
        return true;
    }
    witlet_text password = redis_password((witlet_text){(const char *)secret.ptr, secret.len});
    *ret = check(target, port, &password);
    plugin_list_u8_free(&secret);
    return true;
}
