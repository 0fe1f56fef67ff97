/* The exports of `witlet:probe/prober`: what the host calls. */
#include "json.h"
#include "parameters.h"
#include "tcp.h"

bool exports_witlet_probe_prober_validate(plugin_string_t *config, plugin_string_t *err)
{
    /* This probe type has everything from a probe's parameters. */
    static const char *const known[] = {NULL};
    witlet_text settings = witlet_json_settings(witlet_view(*config));
    bool good = settings.len > 0 ? witlet_json_only(settings, known, "field", err)
                                 : witlet_fail(err, "the configuration isn't a JSON object");
    plugin_string_free(config);
    return good;
}

bool exports_witlet_probe_prober_check_parameters(plugin_string_t *text, plugin_string_t *err)
{
    struct parameters parameters;
    bool good = parameters_read(witlet_view(*text), &parameters, err);
    if (good)
        parameters_free(&parameters);
    plugin_string_free(text);
    return good;
}

/* Receives until the server's first words can be distinguished from others, or it closes. */
static bool receive_greeting(struct tcp *tcp, size_t enough, char *buffer, size_t size, size_t *length,
                             plugin_string_t *error)
{
    *length = 0;
    while (*length < enough) {
        size_t received;
        if (!tcp_receive(tcp, buffer + *length, size - *length, &received, error))
            return false;
        if (received == 0)
            break;
        *length += received;
    }
    return true;
}

/* The outcome of one probe of an address. */
static witlet_probe_types_outcome_t check(const struct parameters *parameters, witlet_text address, uint64_t milliseconds)
{
    struct tcp tcp;
    plugin_string_t error;
    char greeting[EXPECT_MAX];
    size_t length;
    bool received = tcp_connect(&tcp, address, parameters->port, milliseconds, &error) &&
                 receive_greeting(&tcp, parameters->expect.len, greeting, sizeof greeting, &length, &error);
    tcp_close(&tcp);
    if (!received)
        return witlet_failure(error);

    witlet_text greeting_text = {greeting, length};
    plugin_string_t shown = witlet_copy_lossy(greeting_text);
    if (witlet_starts_with(greeting_text, witlet_view(parameters->expect)))
        return witlet_success(shown);
    plugin_string_t detail = witlet_format("expected \"%.*s\", got \"%.*s\"", WITLET_ARGS(witlet_view(parameters->expect)),
                                           WITLET_ARGS(witlet_view(shown)));
    plugin_string_free(&shown);
    return witlet_failure(detail);
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *text,
                                       exports_witlet_probe_prober_outcome_t *ret, plugin_string_t *err)
{
    struct parameters parameters;
    bool good = parameters_read(witlet_view(*text), &parameters, err);
    plugin_string_free(text);
    if (!good)
        return false;

    plugin_list_string_t addresses;
    witlet_probe_types_method_target_pod_ips(target, &addresses);
    if (addresses.len == 0) {
        *ret = witlet_failure(witlet_copy(WITLET_TEXT("the pod has no address")));
    } else {
        /* A tenth of the time is left, so that it is us who say what took too long. */
        uint64_t remaining = witlet_probe_types_method_target_remaining_milliseconds(target);
        *ret = check(&parameters, witlet_view(addresses.ptr[0]), remaining - remaining / 10);
        witlet_log(WITLET_HOST_LOG_LEVEL_DEBUG, WITLET_TEXT("probed"),
                   (witlet_field[]){{"address", witlet_view(addresses.ptr[0])}}, 1);
    }
    plugin_list_string_free(&addresses);
    parameters_free(&parameters);
    return true;
}
