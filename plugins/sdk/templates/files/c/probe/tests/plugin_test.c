/* The plugin's exports, called as the host calls them, with plain data in the host's place. With the address sanitizer, a text that isn't
 * freed fails the test; a pod that isn't dropped does so in any case. */
#include "fakes/probe/probe.h"

#include "check.h"
#include "fake_server.h"

#define PARAMETERS "{\"port\": 25, \"expect\": \"220 \"}"
#define WRONG "error InvalidParameters: "
#define PORT_WORDS WRONG "port: a whole number from 1 to 65535 is needed"
#define EXPECT_WORDS WRONG "expect: the text that the server begins with is needed, of 256 bytes at most"

static void wrong_parameters_are_refused_with_words(void)
{
    static const struct {
        const char *parameters, *said;
    } cases[] = {
        {PARAMETERS, "ok"},
        {"null", PORT_WORDS},
        {"{\"port\": 0, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 65536, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 2.5, \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": \"smtp\", \"expect\": \"220 \"}", PORT_WORDS},
        {"{\"port\": 25}", EXPECT_WORDS},
        {"{\"port\": 25, \"expect\": \"\"}", EXPECT_WORDS},
        {"{\"port\": 25, \"expected\": \"220 \"}", WRONG "unknown parameter \"expected\""},
        {"25", WRONG "the parameters aren't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_TEXT(fake_check_parameters(cases[i].parameters), cases[i].said);
}

static void a_configuration_has_no_fields(void)
{
    CHECK_TEXT(fake_validate("null"), "ok");
    CHECK_TEXT(fake_validate("{\"port\": 25}"), "error InvalidConfiguration: unknown field \"port\"");
}

/* Probes a server, and checks what is said of it. */
static void check_outcome(const char *const *server, const char *said)
{
    struct fake_target target = {.addresses = (const char *const[]){"127.0.0.1", NULL}};
    fake_server = server;
    CHECK_TEXT(fake_probe(&target, PARAMETERS), said);
    CHECK(fake_connections == 0);
}

#define SERVER(...) ((const char *const[]){__VA_ARGS__, NULL})

static void the_outcome_is_what_the_server_says(void)
{
    check_outcome(SERVER("220 mail ready"), "success: 220 mail ready");
    check_outcome(SERVER("2", "2", "0 m"), "success: 220 m");
    CHECK(fake_port == 25);
    check_outcome(SERVER("554 go away"), "failure: expected \"220 \", got \"554 go away\"");
    check_outcome(SERVER("22"), "failure: expected \"220 \", got \"22\"");
    check_outcome(SERVER("\xff\xfe\xfd\xfc"), "failure: expected \"220 \", got \"\ufffd\ufffd\ufffd\ufffd\"");
    check_outcome(SERVER("!connection refused"), "failure: connection refused");
    check_outcome(SERVER("22", "!no answer in time"), "failure: no answer in time");
}

static void a_pod_without_an_address_is_an_error(void)
{
    struct fake_target target = {0};
    CHECK_TEXT(fake_probe(&target, PARAMETERS), "error NoAddress: the pod has no address");
}

int main(void)
{
    wrong_parameters_are_refused_with_words();
    a_configuration_has_no_fields();
    the_outcome_is_what_the_server_says();
    a_pod_without_an_address_is_an_error();
    return CHECKS_END();
}
