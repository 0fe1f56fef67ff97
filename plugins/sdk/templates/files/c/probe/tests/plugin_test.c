/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "check.h"
#include "fake_target.h"

#define PORT_WORDS "port: a whole number from 1 to 65535 is needed"
#define EXPECT_WORDS "expect: the text that the server begins with is needed, of 256 bytes at most"

static void wrong_parameters_are_refused_with_words(void)
{
    static const struct {
        const char *parameters, *words;
    } cases[] = {
        {"{\"port\": 25, \"expect\": \"220 \"}", NULL},
        {"null", PORT_WORDS},
        {"{\"port\": 0, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 65536, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 2.5, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": \"smtp\", \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 25}", EXPECT_WORDS},
        {"{\"port\": 25, \"expect\": \"\"}", EXPECT_WORDS},
        {"{\"port\": 25, \"expected\": \"220 \"}", "unknown parameter \"expected\""},
        {"25", "the parameters aren't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t parameters = fake_text(cases[i].parameters), error;
        bool good = exports_witlet_probe_prober_check_parameters(&parameters, &error);
        CHECK(good == (cases[i].words == NULL));
        if (!good) {
            CHECK(fake_is(error, cases[i].words));
            plugin_string_free(&error);
        }
    }
}

static void a_configuration_has_no_fields(void)
{
    plugin_string_t config = fake_text("null"), error;
    CHECK(exports_witlet_probe_prober_validate(&config, &error));
    config = fake_text("{\"port\": 25}");
    CHECK(!exports_witlet_probe_prober_validate(&config, &error));
    CHECK(fake_is(error, "unknown field \"port\""));
    plugin_string_free(&error);
}

/* Probes a server, and checks the outcome. */
static void check_outcome(const char *const *server, uint8_t tag, const char *detail)
{
    fake_server = server;
    plugin_string_t parameters = fake_text("{\"port\": 25, \"expect\": \"220 \"}"), error;
    witlet_probe_types_outcome_t outcome;
    CHECK(exports_witlet_probe_prober_probe((exports_witlet_probe_prober_borrow_target_t){1}, &parameters, &outcome, &error));
    CHECK(fake_connections == 0);
    CHECK(outcome.tag == tag);
    CHECK(fake_is(outcome.val.success, detail));
    plugin_string_free(&outcome.val.success);
}

#define SERVER(...) ((const char *const[]){__VA_ARGS__, NULL})

static void the_outcome_is_what_the_server_says(void)
{
    fake_pod_ip = "127.0.0.1";
    check_outcome(SERVER("220 mail ready"), WITLET_PROBE_TYPES_OUTCOME_SUCCESS, "220 mail ready");
    check_outcome(SERVER("2", "2", "0 m"), WITLET_PROBE_TYPES_OUTCOME_SUCCESS, "220 m");
    CHECK(fake_port == 25);
    check_outcome(SERVER("554 go away"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "expected \"220 \", got \"554 go away\"");
    check_outcome(SERVER("22"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "expected \"220 \", got \"22\"");
    check_outcome(SERVER("\xff\xfe\xfd\xfc"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "expected \"220 \", got \"\ufffd\ufffd\ufffd\ufffd\"");
    check_outcome(SERVER("!connection refused"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "connection refused");
    check_outcome(SERVER("22", "!no answer in time"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "no answer in time");
}

static void a_pod_without_an_address_fails(void)
{
    fake_pod_ip = NULL;
    check_outcome(SERVER("220 "), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "the pod has no address");
}

int main(void)
{
    wrong_parameters_are_refused_with_words();
    a_configuration_has_no_fields();
    the_outcome_is_what_the_server_says();
    a_pod_without_an_address_fails();
    return CHECKS_END();
}
