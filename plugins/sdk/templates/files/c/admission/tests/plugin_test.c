/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "check.h"
#include "fake_pod.h"
#include "policy.h"

static void a_good_configuration_is_taken(void)
{
    plugin_string_t config = fake_text("{\"label\": \"team\"}"), error;
    CHECK(exports_witlet_admission_handler_validate(&config, &error));
}

static void a_wrong_configuration_is_refused_with_words(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"null", "label: the name of a label is needed, such as {\"label\": \"team\"}"},
        {"{\"label\": \"\"}", "label: the name of a label is needed, such as {\"label\": \"team\"}"},
        {"{\"label\": 7}", "label: the name of a label is needed, such as {\"label\": \"team\"}"},
        {"{\"label\": \"team\", \"lable\": 1}", "unknown field \"lable\""},
        {"[]", "the configuration isn't a JSON object"},
        {"{} {}", "the configuration isn't a JSON object"},
        {"", "the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t config = fake_text(cases[i].config), error;
        CHECK(!exports_witlet_admission_handler_validate(&config, &error));
        CHECK(fake_is(error, cases[i].words));
        plugin_string_free(&error);
    }
}

static void a_name_longer_than_any_label_is_refused(void)
{
    char long_name[400];
    memset(long_name, 'x', sizeof long_name);
    plugin_string_t config = witlet_format("{\"label\": \"%.*s\"}", LABEL_MAX, long_name), error;
    CHECK(exports_witlet_admission_handler_validate(&config, &error));
    config = witlet_format("{\"label\": \"%.*s\"}", LABEL_MAX + 1, long_name);
    CHECK(!exports_witlet_admission_handler_validate(&config, &error));
    plugin_string_free(&error);
}

static witlet_admission_types_verdict_t admit(void)
{
    witlet_admission_types_verdict_t verdict = {0};
    plugin_string_t error;
    CHECK(exports_witlet_admission_handler_admit((exports_witlet_admission_handler_borrow_request_t){1}, &verdict, &error));
    CHECK(fake_pods_held == 0);
    return verdict;
}

static void a_pod_with_the_label_is_admitted(void)
{
    fake_config = "{\"label\": \"team\"}";
    fake_labels = (const char *const[]){"app", "web", "team", "shop", NULL};
    CHECK(admit().tag == WITLET_ADMISSION_TYPES_VERDICT_ADMIT);
}

static void a_pod_without_the_label_is_rejected(void)
{
    fake_config = "{\"label\": \"team\"}";
    fake_labels = (const char *const[]){"teams", "shop", NULL};
    fake_log_lines = 0;
    witlet_admission_types_verdict_t verdict = admit();
    CHECK(verdict.tag == WITLET_ADMISSION_TYPES_VERDICT_REJECT);
    CHECK(fake_is(verdict.val.reject.reason, "LabelMissing"));
    CHECK(fake_is(verdict.val.reject.message, "label \"team\" is missing"));
    CHECK(fake_log_lines == 1);
    plugin_string_free(&verdict.val.reject.reason);
    plugin_string_free(&verdict.val.reject.message);
}

int main(void)
{
    a_good_configuration_is_taken();
    a_wrong_configuration_is_refused_with_words();
    a_name_longer_than_any_label_is_refused();
    a_pod_with_the_label_is_admitted();
    a_pod_without_the_label_is_rejected();
    return CHECKS_END();
}
