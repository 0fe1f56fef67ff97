/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "fakes/pod-source/pod_source.h"

#include "check.h"
#include "fake.h"

#define WRONG "error InvalidConfiguration: "

static void wrong_configurations_are_refused_with_words(void)
{
    static const struct {
        const char *config, *said;
    } cases[] = {
        {"{\"pods\": []}", "ok"},
        {"{\"pods\": [{\"kind\": \"Pod\"}]}", "ok"},
        {"null", WRONG "pods: a list of manifests is needed, and may be empty"},
        {"{\"pods\": {}}", WRONG "pods: a list of manifests is needed, and may be empty"},
        {"{\"pods\": [{}, \"web\"]}", WRONG "pods[1]: a manifest is an object"},
        {"{\"pods\": [], \"pod\": []}", WRONG "unknown field \"pod\""},
        {"[]", WRONG "the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_TEXT(fake_validate(cases[i].config), cases[i].said);
}

/* Polls with the cursor of the poll before; what is said begins with the new one. */
static void check_poll(const char *said)
{
    const char *found = fake_poll(fake_cursor), *rest = strstr(found, "; ");
    CHECK(strncmp(found, "cursor ", strlen("cursor ")) == 0);
    CHECK_TEXT(rest != NULL ? rest + 2 : "", said);
}

static void what_is_reported_follows_the_configuration(void)
{
    fake_config = "{\"pods\": [{\"kind\": \"Pod\"}, {}]}";
    check_poll("pod {\"kind\": \"Pod\"}; pod {}");
    check_poll("unchanged");
    fake_config = "{\"pods\": [{\"kind\": \"Pod\"}]}";
    check_poll("pod {\"kind\": \"Pod\"}");
    fake_config = "{\"pods\": []}";
    check_poll("empty");
    check_poll("unchanged");
}

static void a_configuration_that_went_wrong_is_an_error_and_not_empty(void)
{
    fake_config = "{\"pods\": 7}";
    CHECK_TEXT(fake_poll(NULL), WRONG "pods: a list of manifests is needed, and may be empty");
}

int main(void)
{
    wrong_configurations_are_refused_with_words();
    what_is_reported_follows_the_configuration();
    a_configuration_that_went_wrong_is_an_error_and_not_empty();
    return CHECKS_END();
}
