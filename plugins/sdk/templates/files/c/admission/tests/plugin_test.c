/* The plugin's exports, called as the host calls them, with manifests in the host's place. With the address sanitizer, a text that isn't
 * freed fails the test; a pod that isn't dropped does so in any case. */
#include "fakes/admission/admission.h"

#include "check.h"
#include "fake.h"
#include "policy.h"

#define NEEDED "error InvalidConfiguration: label: the name of a label is needed, such as {\"label\": \"team\"}"

static void a_configuration_is_taken_or_refused_with_words(void)
{
    static const struct {
        const char *config, *said;
    } cases[] = {
        {"{\"label\": \"team\"}", "subscribe add"},
        {"null", NEEDED},
        {"{\"label\": \"\"}", NEEDED},
        {"{\"label\": 7}", NEEDED},
        {"{\"label\": \"team\", \"lable\": 1}", "error InvalidConfiguration: unknown field \"lable\""},
        {"[]", "error InvalidConfiguration: the configuration isn't a JSON object"},
        {"{} {}", "error InvalidConfiguration: the configuration isn't a JSON object"},
        {"", "error InvalidConfiguration: the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_TEXT(fake_validate(cases[i].config), cases[i].said);
}

static void a_name_longer_than_any_label_is_refused(void)
{
    char long_name[LABEL_MAX + 1], config[LABEL_MAX + 32];
    memset(long_name, 'x', sizeof long_name);
    snprintf(config, sizeof config, "{\"label\": \"%.*s\"}", LABEL_MAX, long_name);
    CHECK_TEXT(fake_validate(config), "subscribe add");
    snprintf(config, sizeof config, "{\"label\": \"%.*s\"}", LABEL_MAX + 1, long_name);
    CHECK_TEXT(fake_validate(config), NEEDED);
}

static void a_pod_is_judged_by_its_label(void)
{
    static const struct {
        const char *pod, *said;
    } cases[] = {
        {"{\"metadata\": {\"labels\": {\"app\": \"web\", \"team\": \"shop\"}}}", "admit"},
        {"{\"metadata\": {\"labels\": {\"teams\": \"shop\"}}}", "reject LabelMissing: label \"team\" is missing"},
        {"{\"metadata\": {}}", "reject LabelMissing: label \"team\" is missing"},
        {"{\"metadata\": {\"labels\": {\"team\": \"\"}}}", "reject LabelMissing: label \"team\" is empty"},
    };
    fake_config = "{\"label\": \"team\"}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_request request = {.pod = cases[i].pod};
        CHECK_TEXT(fake_admit(&request), cases[i].said);
    }
}

static void a_configuration_that_went_wrong_is_an_error(void)
{
    struct fake_request request = {.pod = "{}"};
    fake_config = "{}";
    CHECK_TEXT(fake_admit(&request), NEEDED);
}

int main(void)
{
    a_configuration_is_taken_or_refused_with_words();
    a_name_longer_than_any_label_is_refused();
    a_pod_is_judged_by_its_label();
    a_configuration_that_went_wrong_is_an_error();
    return CHECKS_END();
}
