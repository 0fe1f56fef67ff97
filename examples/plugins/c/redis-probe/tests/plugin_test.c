/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "check.h"
#include "fake_server.h"

/* Calls validate or check-parameters; `words` of NULL stands for success. */
static void check_text(bool (*export)(plugin_string_t *, plugin_string_t *), const char *text, const char *words)
{
    plugin_string_t argument = fake_text(text), error;
    bool good = export(&argument, &error);
    CHECK(good == (words == NULL));
    if (!good) {
        CHECK(fake_is(error, words));
        plugin_string_free(&error);
    }
}

static void wrong_settings_are_refused_with_words(void)
{
    check_text(exports_witlet_probe_prober_validate, "null", NULL);
    check_text(exports_witlet_probe_prober_validate, "{\"passwordSecret\": \"redis-password\"}", NULL);
    check_text(exports_witlet_probe_prober_validate, "{\"passwordSecret\": \"\"}", "passwordSecret: the name of a secret is needed");
    check_text(exports_witlet_probe_prober_validate, "{\"passwordSecret\": 7}", "passwordSecret: the name of a secret is needed");
    check_text(exports_witlet_probe_prober_validate, "{\"password\": \"hunter2\"}", "unknown field \"password\"");
    check_text(exports_witlet_probe_prober_validate, "[]", "the configuration isn't a JSON object");
    check_text(exports_witlet_probe_prober_check_parameters, "null", NULL);
    check_text(exports_witlet_probe_prober_check_parameters, "{\"port\": 65535}", NULL);
    static const char *const ports[] = {"0", "65536", "-1", "1.5", "1e9", "\"redis\"", "null", "[6379]"};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"port\": %s}", ports[i]);
        check_text(exports_witlet_probe_prober_check_parameters, text, "port: a whole number from 1 to 65535 is needed");
    }
    check_text(exports_witlet_probe_prober_check_parameters, "{\"prot\": 6379}", "unknown parameter \"prot\"");
    check_text(exports_witlet_probe_prober_check_parameters, "7", "the parameters aren't a JSON object");
}

#define SERVER(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Probes a server, and checks the outcome. */
static void check_outcome(const char *const *server, uint8_t tag, const char *detail)
{
    fake_server = server;
    fake_sent[0] = '\0';
    plugin_string_t parameters = fake_text("{\"port\": 7001}"), error;
    witlet_probe_types_outcome_t outcome;
    CHECK(exports_witlet_probe_prober_probe((exports_witlet_probe_prober_borrow_target_t){1}, &parameters, &outcome, &error));
    CHECK(fake_connections == 0);
    CHECK(outcome.tag == tag);
    CHECK(fake_is(outcome.val.success, detail));
    plugin_string_free(&outcome.val.success);
}

static void the_outcome_is_what_the_server_says(void)
{
    fake_pod_ip = "127.0.0.1";
    fake_config = "null";
    check_outcome(SERVER("+PONG\r\n"), WITLET_PROBE_TYPES_OUTCOME_SUCCESS, "PONG");
    CHECK(strcmp(fake_sent, "PING\r\n") == 0);
    CHECK(fake_port == 7001);
    check_outcome(SERVER("+", "PONG", "\r", "\n"), WITLET_PROBE_TYPES_OUTCOME_SUCCESS, "PONG");
    check_outcome(SERVER("-LOADING data\r\n"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "LOADING data");
    check_outcome(SERVER("+PO"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "the server closed the connection before it had answered");
    check_outcome(SERVER("!connection refused"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "connection refused");
    check_outcome(SERVER("+PO", "!no answer in time"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "no answer in time");
    char endless[2000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    check_outcome(SERVER(endless), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "the answer is longer than 1024 bytes");
}

static void a_pod_without_an_address_fails(void)
{
    fake_pod_ip = NULL;
    check_outcome(SERVER("+PONG\r\n"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "the pod has no address");
}

static void a_password_goes_first(void)
{
    fake_pod_ip = "127.0.0.1";
    fake_config = "{\"passwordSecret\": \"redis-password\"}";
    fake_secret = "s3cret\n";
    check_outcome(SERVER("+OK\r\n", "+PONG\r\n"), WITLET_PROBE_TYPES_OUTCOME_SUCCESS, "PONG");
    CHECK(strcmp(fake_sent, "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\nPING\r\n") == 0);
    check_outcome(SERVER("-WRONGPASS no\r\n"), WITLET_PROBE_TYPES_OUTCOME_FAILURE, "WRONGPASS no");
    CHECK(strstr(fake_sent, "PING") == NULL);
}

static void a_password_that_is_not_there_is_an_error(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"{\"passwordSecret\": \"redis-password\"}", "secret \"redis-password\" isn't on this node"},
        {"{\"passwordSecret\": \"another\"}", "secret \"another\" isn't granted"},
    };
    fake_secret = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_config = cases[i].config;
        plugin_string_t parameters = fake_text("null"), error;
        witlet_probe_types_outcome_t outcome;
        CHECK(!exports_witlet_probe_prober_probe((exports_witlet_probe_prober_borrow_target_t){1}, &parameters, &outcome, &error));
        CHECK(fake_is(error, cases[i].words));
        plugin_string_free(&error);
    }
}

int main(void)
{
    wrong_settings_are_refused_with_words();
    the_outcome_is_what_the_server_says();
    a_pod_without_an_address_fails();
    a_password_goes_first();
    a_password_that_is_not_there_is_an_error();
    return CHECKS_END();
}
