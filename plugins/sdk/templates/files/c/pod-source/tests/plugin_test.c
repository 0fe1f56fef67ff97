/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "check.h"
#include "fake.h"

static void wrong_configurations_are_refused_with_words(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"{\"pods\": []}", NULL},
        {"{\"pods\": [{\"kind\": \"Pod\"}]}", NULL},
        {"null", "pods: a list of manifests is needed, and may be empty"},
        {"{\"pods\": {}}", "pods: a list of manifests is needed, and may be empty"},
        {"{\"pods\": [{}, \"web\"]}", "pods[1]: a manifest is an object"},
        {"{\"pods\": [], \"pod\": []}", "unknown field \"pod\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t config = fake_text(cases[i].config), error;
        bool good = exports_witlet_pod_source_source_validate(&config, &error);
        CHECK(good == (cases[i].words == NULL));
        if (!good) {
            CHECK(fake_is(error, cases[i].words));
            plugin_string_free(&error);
        }
    }
}

/* Polls with the cursor of the poll before, which is replaced; checks the kind of snapshot, and at the first pod. */
static void check_poll(plugin_string_t *cursor, uint8_t tag, const char *first)
{
    plugin_string_t handed = witlet_copy(witlet_view(*cursor));
    exports_witlet_pod_source_source_poll_result_t result;
    exports_witlet_pod_source_source_source_error_t error;
    CHECK(exports_witlet_pod_source_source_poll(cursor->len > 0 ? &handed : NULL, &result, &error));
    CHECK(result.snapshot.tag == tag);
    if (tag == WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS) {
        CHECK(fake_is(result.snapshot.val.pods.ptr[0], first));
        plugin_list_string_free(&result.snapshot.val.pods);
    }
    CHECK(result.cursor.is_some);
    plugin_string_free(cursor);
    *cursor = result.cursor.val;
}

static void the_snapshot_follows_the_configuration(void)
{
    plugin_string_t cursor = {NULL, 0};
    fake_config = "{\"pods\": [{\"kind\": \"Pod\"}, {}]}";
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS, "{\"kind\": \"Pod\"}");
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED, NULL);
    fake_config = "{\"pods\": [{\"kind\": \"Pod\"}]}";
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS, "{\"kind\": \"Pod\"}");
    fake_config = "{\"pods\": []}";
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY, NULL);
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED, NULL);
    plugin_string_free(&cursor);
}

static void a_configuration_that_went_wrong_is_an_error_and_not_empty(void)
{
    fake_config = "{\"pods\": 7}";
    exports_witlet_pod_source_source_poll_result_t result;
    exports_witlet_pod_source_source_source_error_t error;
    CHECK(!exports_witlet_pod_source_source_poll(NULL, &result, &error));
    CHECK(fake_is(error.reason, "Invalid"));
    CHECK(!error.retry_after_milliseconds.is_some);
    plugin_string_free(&error.reason);
    plugin_string_free(&error.message);
}

int main(void)
{
    wrong_configurations_are_refused_with_words();
    the_snapshot_follows_the_configuration();
    a_configuration_that_went_wrong_is_an_error_and_not_empty();
    return CHECKS_END();
}
