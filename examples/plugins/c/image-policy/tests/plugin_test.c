/* The plugin's exports, called as the host calls them. With the address sanitizer, a text that isn't freed fails the test. */
#include "check.h"
#include "fake_pod.h"

#define PLACE_WORDS "a registry, or registry and path, without a slash at its ends is needed"

static void wrong_configurations_are_refused_with_words(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"{\"allow\": [\"docker.io/library\", \"localhost:5000\"], \"requireDigest\": true}", NULL},
        {"null", "allow: a list of at least one registry, or registry and path, is needed"},
        {"{\"allow\": []}", "allow: a list of at least one registry, or registry and path, is needed"},
        {"{\"allow\": \"docker.io\"}", "allow: a list of at least one registry, or registry and path, is needed"},
        {"{\"allow\": [\"docker.io\", \"\"]}", "allow[1]: " PLACE_WORDS},
        {"{\"allow\": [\"docker.io/\"]}", "allow[0]: " PLACE_WORDS},
        {"{\"allow\": [\"/docker.io\"]}", "allow[0]: " PLACE_WORDS},
        {"{\"allow\": [7]}", "allow[0]: " PLACE_WORDS},
        {"{\"allow\": [\"docker.io\"], \"requireDigest\": 1}", "requireDigest: true or false is needed"},
        {"{\"allow\": [\"docker.io\"], \"requireDigests\": true}", "unknown field \"requireDigests\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t config = fake_text(cases[i].config), error;
        bool good = exports_witlet_admission_handler_validate(&config, &error);
        CHECK(good == (cases[i].words == NULL));
        if (!good) {
            CHECK(fake_is(error, cases[i].words));
            plugin_string_free(&error);
        }
    }
}

#define CONTAINERS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Asks about a pod with these containers; a reason of NULL stands for admit. */
static void check_verdict(const char *const *containers, const char *reason, const char *message)
{
    fake_containers = containers;
    witlet_admission_types_verdict_t verdict = {0};
    plugin_string_t error;
    CHECK(exports_witlet_admission_handler_admit((exports_witlet_admission_handler_borrow_request_t){1}, &verdict, &error));
    CHECK(fake_pods_held == 0);
    if (reason == NULL) {
        CHECK(verdict.tag == WITLET_ADMISSION_TYPES_VERDICT_ADMIT);
        return;
    }
    CHECK(verdict.tag == WITLET_ADMISSION_TYPES_VERDICT_REJECT);
    CHECK(fake_is(verdict.val.reject.reason, reason));
    CHECK(fake_is(verdict.val.reject.message, message));
    plugin_string_free(&verdict.val.reject.reason);
    plugin_string_free(&verdict.val.reject.message);
}

static void images_come_from_allowed_places(void)
{
    fake_config = "{\"allow\": [\"registry.example.com/shop\", \"docker.io/library\"]}";
    check_verdict(CONTAINERS("app", "nginx"), NULL, NULL);
    check_verdict(CONTAINERS("app", "registry.example.com/shop"), NULL, NULL);
    check_verdict(CONTAINERS("app", "registry.example.com/shop/web:1"), NULL, NULL);
    check_verdict(CONTAINERS("app", "registry.example.com/shopping/web"), "ImageNotAllowed",
                  "container \"app\": registry.example.com/shopping/web isn't allowed");
    check_verdict(CONTAINERS("app", ""), "ImageNotAllowed", "container \"app\": no image is named");
    check_verdict(CONTAINERS("app", "nginx", "helper", "a.example.com/b", "other", "c.example.com/d"), "ImageNotAllowed",
                  "container \"helper\": a.example.com/b isn't allowed");
}

static void images_are_pinned_where_that_is_asked_for(void)
{
    fake_config = "{\"allow\": [\"docker.io\"], \"requireDigest\": true}";
    check_verdict(CONTAINERS("app", "nginx:1@sha256:00ff"), NULL, NULL);
    check_verdict(CONTAINERS("app", "nginx:1"), "ImageNotPinned",
                  "container \"app\": docker.io/library/nginx isn't pinned by a digest");
}

static void a_resize_is_not_checked(void)
{
    fake_operation = WITLET_ADMISSION_TYPES_OPERATION_RESIZE;
    check_verdict(CONTAINERS("app", "a.example.com/b"), NULL, NULL);
    fake_operation = WITLET_ADMISSION_TYPES_OPERATION_ADD;
}

static void a_configuration_that_went_wrong_is_an_error(void)
{
    fake_config = "{}";
    witlet_admission_types_verdict_t verdict;
    plugin_string_t error;
    CHECK(!exports_witlet_admission_handler_admit((exports_witlet_admission_handler_borrow_request_t){1}, &verdict, &error));
    plugin_string_free(&error);
}

int main(void)
{
    wrong_configurations_are_refused_with_words();
    images_come_from_allowed_places();
    images_are_pinned_where_that_is_asked_for();
    a_resize_is_not_checked();
    a_configuration_that_went_wrong_is_an_error();
    return CHECKS_END();
}
