/* The exports of `witlet:probe/prober`: what the host calls. */
#include "probe.h"

#include "json.h"
#include "parameters.h"
#include "tcp.h"

bool exports_witlet_probe_prober_validate(witlet_setup_t setup, plugin_string_t *config, witlet_error_t *error)
{
    /* This probe type has everything from a probe's parameters. */
    static const char *const known[] = {NULL};
    plugin_string_t words;
    witlet_text settings = witlet_json_settings(witlet_view(*config));
    bool good = settings.len > 0 ? witlet_json_only(settings, known, "field", &words)
                                 : witlet_fail(&words, "the configuration isn't a JSON object");
    plugin_string_free(config);
    (void)setup;
    return good || witlet_error_owned(error, "InvalidConfiguration", words);
}

/* The parameters of a text, which is freed; false with an error of the contract's kind. */
static bool load(plugin_string_t *text, struct parameters *parameters, witlet_error_t *error)
{
    plugin_string_t words;
    bool good = parameters_read(witlet_view(*text), parameters, &words);
    plugin_string_free(text);
    return good || witlet_error_owned(error, "InvalidParameters", words);
}

bool exports_witlet_probe_prober_check_parameters(witlet_check_t check, plugin_string_t *text, witlet_error_t *error)
{
    struct parameters parameters;
    (void)check;
    if (!load(text, &parameters, error))
        return false;
    parameters_free(&parameters);
    return true;
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

/* One probe of an address. */
static void ask(const struct parameters *parameters, witlet_text address, uint64_t milliseconds, witlet_answer_t answer)
{
    struct tcp tcp;
    WITLET_FREED words = {NULL, 0};
    char greeting[EXPECT_MAX];
    size_t length;
    bool received = tcp_connect(&tcp, address, parameters->port, milliseconds, &words) &&
                    receive_greeting(&tcp, parameters->expect.len, greeting, sizeof greeting, &length, &words);
    tcp_close(&tcp);
    if (!received) {
        witlet_failure(answer, witlet_view(words));
        return;
    }
    witlet_text greeting_text = {greeting, length};
    WITLET_FREED shown = witlet_copy_lossy(greeting_text);
    if (witlet_starts_with(greeting_text, witlet_view(parameters->expect))) {
        witlet_success(answer, witlet_view(shown));
        return;
    }
    words = witlet_format("expected \"%.*s\", got \"%.*s\"", WITLET_ARGS(witlet_view(parameters->expect)),
                          WITLET_ARGS(witlet_view(shown)));
    witlet_failure(answer, witlet_view(words));
}

bool exports_witlet_probe_prober_probe(witlet_target_t target, plugin_string_t *text, witlet_answer_t answer, witlet_error_t *error)
{
    struct parameters parameters;
    if (!load(text, &parameters, error))
        return false;
    WITLET_DROPPED(pod) pod = witlet_target_pod(target);
    WITLET_FREED_TEXTS addresses = witlet_pod_addresses(pod);
    bool good = addresses.len > 0;
    if (good) {
        /* A tenth of the time is left, so that it is us who say what took too long. */
        uint64_t remaining = witlet_target_remaining_milliseconds(target);
        witlet_text address = witlet_view(addresses.ptr[0]);
        ask(&parameters, address, remaining - remaining / 10, answer);
        witlet_log(WITLET_HOST_LOG_LEVEL_DEBUG, WITLET_TEXT("probed"), (witlet_field[]){{"address", address}}, 1);
    } else {
        /* An error: without an address nothing can be found out about the server. */
        witlet_error(error, "NoAddress", "the pod has no address");
    }
    parameters_free(&parameters);
    return good;
}
