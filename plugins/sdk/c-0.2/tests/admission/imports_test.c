/* The fakes of what a world may import besides its role. It runs where manifests_test.c does. */
#include "admission.h"

#include "check.h"
#include "fakes/fakes.h"
#include "fakes/host-data/data.h"
#include "fakes/host-metrics/metrics.h"
#include "fakes/host-secret/secret.h"
#include "fakes/host.h"

static plugin_string_t t(const char *text)
{
    return witlet_lend(witlet_view_c(text));
}

static void a_secret_is_there_or_the_error_says_why_not(void)
{
    fake_secrets = (const char *const[]){"given", "s3cret", "gone", "", NULL};
    plugin_string_t name = t("given");
    plugin_list_u8_t bytes;
    witlet_host_errors_own_error_t error;
    CHECK(witlet_host_secret_get(&name, &bytes, &error) && bytes.len == 6 && memcmp(bytes.ptr, "s3cret", 6) == 0);
    plugin_list_u8_free(&bytes);
    name = t("gone");
    CHECK(!witlet_host_secret_get(&name, &bytes, &error));
    plugin_string_t code = witlet_error_code(error);
    CHECK(witlet_equal(witlet_view(code), WITLET_TEXT("NotFound")));
    plugin_string_free(&code);
    name = t("other");
    CHECK(!witlet_host_secret_get(&name, &bytes, &error));
    plugin_string_t words = witlet_error_words(error);
    CHECK(witlet_starts_with(witlet_view(words), WITLET_TEXT("NotGranted: ")));
    plugin_string_free(&words);
}

static void metrics_add_up(void)
{
    plugin_string_t name = t("asked");
    plugin_list_tuple2_string_string_t none = {NULL, 0};
    witlet_host_metrics_add(&name, &none, 2);
    witlet_host_metrics_observe(&name, &none, 0.5);
    CHECK(fake_metric("asked") == 2.5 && fake_metric("other") == 0);
}

static void data_are_read_in_parts(void)
{
    plugin_string_t name;
    plugin_list_u8_t bytes;
    witlet_host_errors_own_error_t error;
    fake_data = (const char *const[]){"list", "abcdef", NULL};
    plugin_list_string_t names;
    witlet_host_data_names(&names);
    CHECK(names.len == 1);
    plugin_list_string_free(&names);
    name = t("list");
    witlet_host_data_own_snapshot_t snapshot;
    CHECK(witlet_host_data_open(&name, &snapshot, &error));
    witlet_host_data_borrow_snapshot_t of = witlet_host_data_borrow_snapshot(snapshot);
    CHECK(witlet_host_data_method_snapshot_size(of) == 6);
    witlet_host_data_method_snapshot_read(of, 4, 10, &bytes);
    CHECK(bytes.len == 2 && bytes.ptr[0] == 'e');
    plugin_list_u8_free(&bytes);
    witlet_host_data_method_snapshot_read(of, 7, 10, &bytes);
    CHECK(bytes.len == 0);
    plugin_string_t digest;
    witlet_host_data_method_snapshot_digest(of, &digest);
    CHECK(digest.len == 7 + 64);
    plugin_string_free(&digest);
    witlet_host_data_snapshot_drop_own(snapshot);
}

static void the_node_is_that_of_the_test(void)
{
    plugin_string_t name;
    plugin_list_string_t names;
    fake_node = "{\"metadata\": {\"labels\": {\"topology.kubernetes.io/zone\": \"z\"}}, \"status\": {\"allocatable\": {\"cpu\": \"2\"},"
                "\"addresses\": [{\"type\": \"InternalIP\", \"address\": \"10.0.0.1\"}, {\"type\": \"Hostname\", \"address\": \"n\"}]}}";
    plugin_string_t text;
    CHECK(witlet_host_node_zone(&text) && witlet_equal(witlet_view(text), WITLET_TEXT("z")));
    plugin_string_free(&text);
    witlet_host_node_addresses(&names);
    CHECK(names.len == 1);
    plugin_list_string_free(&names);
    int64_t cpu;
    name = t("cpu");
    CHECK(witlet_host_node_allocatable(&name, &cpu) && cpu == 2000);
    fake_features = (const char *const[]){"shadow", NULL};
    name = t("shadow");
    CHECK(witlet_host_features_has(&name));
    name = t("shadows");
    CHECK(!witlet_host_features_has(&name));
}

int main(void)
{
    fakes_begin();
    a_secret_is_there_or_the_error_says_why_not();
    metrics_add_up();
    data_are_read_in_parts();
    the_node_is_that_of_the_test();
    CHECK_TEXT(fakes_end(true, (witlet_host_errors_own_error_t){0}), "");
    return CHECKS_END();
}
