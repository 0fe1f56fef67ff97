/* What the fakes say of manifests is what the host says, by a file to which the host and the SDKs of all languages are held. It runs in a
 * project of an admission handler: `tests/languages` puts it there. */
#include "admission.h"

#include "check.h"
#include "fakes/admission/things.h"
#include "fakes/amounts.h"

#define MANIFESTS "tests/manifests.json"

/* What is found, as JSON without spaces. */
static char found[64 << 10];
static size_t length;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(found + length, sizeof found - length, format, arguments);
    va_end(arguments);
    if (length >= sizeof found)
        abort();
}

/* A comma unless something begins. */
static void separate(void)
{
    if (length > 0 && strchr("[{:", found[length - 1]) == NULL)
        put(",");
}

static void put_text(plugin_string_t text)
{
    separate();
    put("\"%.*s\"", WITLET_ARGS(witlet_view(text)));
    plugin_string_free(&text);
}

static void put_number(int64_t number)
{
    separate();
    put("%lld", (long long)number);
}

static void put_flag(bool flag)
{
    separate();
    put(flag ? "true" : "false");
}

static void put_null(void)
{
    separate();
    put("null");
}

/* What is there, as a getter says. */
static void put_option(bool is_there, const plugin_string_t *text)
{
    is_there ? put_text(*text) : put_null();
}

static void put_optional_number(bool is_there, const int64_t *number)
{
    is_there ? put_number(*number) : put_null();
}

static void begin(const char *key, char bracket)
{
    separate();
    if (key != NULL)
        put("\"%s\":", key);
    put("%c", bracket);
}

static void put_texts(plugin_list_string_t texts)
{
    begin(NULL, '[');
    for (size_t i = 0; i < texts.len; i++) {
        put_text(texts.ptr[i]);
        texts.ptr[i] = (plugin_string_t){NULL, 0};
    }
    put("]");
    plugin_list_string_free(&texts);
}

/* What a container or a pod has of each resource. */
#define PUT_AMOUNTS(thing, it)                                                                                         \
    do {                                                                                                               \
        begin("amounts", '[');                                                                                         \
        WITLET_FREED_TEXTS names = witlet_##thing##_resources(it);                                                     \
        for (size_t i = 0; i < names.len; i++) {                                                                       \
            int64_t amount;                                                                                            \
            begin(NULL, '[');                                                                                          \
            put_text(witlet_copy(witlet_view(names.ptr[i])));                                                          \
            put_optional_number(witlet_##thing##_request(it, witlet_view(names.ptr[i]), &amount), &amount);             \
            put_optional_number(witlet_##thing##_limit(it, witlet_view(names.ptr[i]), &amount), &amount);               \
            put("]");                                                                                                  \
        }                                                                                                              \
        put("]");                                                                                                      \
    } while (0)

/* Something that may be there, of a getter. */
#define PUT_OPTION(getter, it)                                                                                         \
    do {                                                                                                               \
        plugin_string_t text;                                                                                          \
        bool is_there = getter(it, &text);                                                                             \
        put_option(is_there, &text);                                                                                   \
    } while (0)

static void put_image(witlet_image_t image)
{
    begin(NULL, '[');
    put_text(witlet_image_reference(image));
    put_text(witlet_image_place(image));
    put_text(witlet_image_name(image));
    PUT_OPTION(witlet_image_registry, image);
    PUT_OPTION(witlet_image_repository, image);
    PUT_OPTION(witlet_image_tag, image);
    PUT_OPTION(witlet_image_digest, image);
    put("]");
}

static void put_ports_and_mounts(witlet_container_t it)
{
    begin("ports", '[');
    WITLET_DROPPED(container_port_list) ports = witlet_container_ports(it);
    for (size_t i = 0; i < ports.len; i++) {
        uint16_t port;
        begin(NULL, '[');
        put_text(witlet_container_port_name(ports.ptr[i]));
        put_number(witlet_container_port_number(ports.ptr[i]));
        put_text(witlet_container_port_protocol(ports.ptr[i]));
        bool is_there = witlet_container_port_host_port(ports.ptr[i], &port);
        put_optional_number(is_there, &(int64_t){port});
        put("]");
    }
    put("]");
    begin("mounts", '[');
    WITLET_DROPPED(mount_list) mounts = witlet_container_mounts(it);
    for (size_t i = 0; i < mounts.len; i++) {
        begin(NULL, '[');
        put_text(witlet_mount_volume(mounts.ptr[i]));
        put_text(witlet_mount_path(mounts.ptr[i]));
        put_text(witlet_mount_sub_path(mounts.ptr[i]));
        put_flag(witlet_mount_read_only(mounts.ptr[i]));
        put_flag(witlet_mount_is_device(mounts.ptr[i]));
        put("]");
    }
    put("]");
}

static void put_container(witlet_container_t it)
{
    int64_t id;
    begin(NULL, '{');
    begin("name", '[');
    put_text(witlet_container_name(it));
    put_text(witlet_container_kind(it));
    put_text(witlet_container_place(it));
    put_text(witlet_container_pull_policy(it));
    put("]");
    PUT_AMOUNTS(container, it);
    begin("flags", '[');
    put_flag(witlet_container_privileged(it));
    put_flag(witlet_container_run_as_non_root(it));
    put_flag(witlet_container_allow_privilege_escalation(it));
    put_flag(witlet_container_read_only_root_filesystem(it));
    put("]");
    begin("users", '[');
    put_optional_number(witlet_container_run_as_user(it, &id), &id);
    put_optional_number(witlet_container_run_as_group(it, &id), &id);
    put("]");
    begin("profiles", '[');
    PUT_OPTION(witlet_container_seccomp_profile, it);
    PUT_OPTION(witlet_container_apparmor_profile, it);
    put("]");
    begin("capabilities", '[');
    put_texts(witlet_container_added_capabilities(it));
    put_texts(witlet_container_dropped_capabilities(it));
    put("]");
    separate();
    put("\"env\":");
    put_texts(witlet_container_env_names(it));
    put_ports_and_mounts(it);
    put("}");
}

static void put_lists(witlet_pod_t pod)
{
    begin("images", '[');
    WITLET_DROPPED(image_list) images = witlet_pod_images(pod);
    for (size_t i = 0; i < images.len; i++)
        put_image(images.ptr[i]);
    put("]");
    begin("volumes", '[');
    WITLET_DROPPED(volume_list) volumes = witlet_pod_volumes(pod);
    for (size_t i = 0; i < volumes.len; i++) {
        begin(NULL, '[');
        put_text(witlet_volume_name(volumes.ptr[i]));
        put_text(witlet_volume_kind(volumes.ptr[i]));
        PUT_OPTION(witlet_volume_host_path, volumes.ptr[i]);
        put("]");
    }
    put("]");
    begin("hostPorts", '[');
    WITLET_DROPPED(host_port_list) ports = witlet_pod_host_ports(pod);
    for (size_t i = 0; i < ports.len; i++) {
        begin(NULL, '[');
        PUT_OPTION(witlet_host_port_address, ports.ptr[i]);
        put_text(witlet_host_port_protocol(ports.ptr[i]));
        put_number(witlet_host_port_number(ports.ptr[i]));
        put("]");
    }
    put("]");
}

static void put_pod(witlet_pod_t pod)
{
    begin(NULL, '{');
    begin("account", '[');
    put_text(witlet_pod_service_account(pod));
    put_text(witlet_format("%s", witlet_pod_has_service_account_token(pod) ? "true" : "false"));
    put("]");
    separate();
    put("\"qos\":");
    put_text(witlet_pod_qos(pod));
    PUT_AMOUNTS(pod, pod);
    put_lists(pod);
    begin("containers", '[');
    WITLET_DROPPED(container_list) containers = witlet_pod_containers(pod);
    for (size_t i = 0; i < containers.len; i++)
        put_container(containers.ptr[i]);
    put("]}");
}

/* A JSON text without what stands between its parts; nothing in the file has a quote within a string. */
static void squeeze(witlet_text json, char *text)
{
    bool in_string = false;
    for (size_t i = 0; i < json.len; i++) {
        in_string = in_string != (json.ptr[i] == '"');
        if (in_string || strchr(" \n", json.ptr[i]) == NULL)
            *text++ = json.ptr[i];
    }
    *text = '\0';
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 256 << 10);
    if (file == NULL || text == NULL || fread(text, 1, (256 << 10) - 1, file) == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

static void manifests_are_read_as_the_host_reads_pods(void)
{
    static char expected[sizeof found];
    char *text = read_file(MANIFESTS);
    witlet_text cases = fakes_json(text);
    CHECK(witlet_json_count(cases) > 0);
    for (witlet_json_items items = witlet_json_each(cases); witlet_json_next(&items);) {
        plugin_string_t manifest = witlet_format("%.*s", WITLET_ARGS(witlet_json_member(items.value, "manifest")));
        /* It ends with a NUL. */
        struct fake_request request = {.pod = (const char *)manifest.ptr};
        fakes_asked = &request;
        fakes_begin();
        length = 0;
        witlet_pod_t pod = witlet_request_pod((witlet_request_t){1});
        put_pod(pod);
        witlet_pod_drop(&pod);
        CHECK_TEXT(fakes_end(true, (witlet_host_errors_own_error_t){0}), "");
        squeeze(witlet_json_member(items.value, "seen"), expected);
        CHECK_TEXT(found, expected);
        plugin_string_free(&manifest);
    }
    free(text);
}

static void quantities_are_rounded_away_from_zero(void)
{
    static const struct {
        const char *resource, *json;
        int64_t amount;
    } cases[] = {
        {"cpu", "\"1\"", 1000},          {"cpu", "\"100m\"", 100},     {"cpu", "\"1u\"", 1},        {"cpu", "\"-1u\"", -1},
        {"cpu", "\"1.5k\"", 1500000},    {"cpu", "\"1Ki\"", 1024000},  {"cpu", "\"1e3\"", 1000000}, {"cpu", "\"1E-3\"", 1},
        {"cpu", "\".5\"", 500},          {"cpu", "\"5.\"", 5000},      {"cpu", "\"n\"", 0},         {"cpu", "\"\"", 0},
        {"cpu", "\"1 \"", 0},            {"cpu", "\"1KiB\"", 0},       {"cpu", "\"1..2\"", 0},      {"cpu", "\"100E\"", INT64_MAX},
        {"cpu", "\"-100E\"", INT64_MIN}, {"memory", "1.5", 2},         {"memory", "7", 7},          {"memory", "null", 0},
        {"memory", "\"1.50000000000000000000000000000000000000000000000000000000\"", 2},
        {"memory", "\"8Ei\"", INT64_MAX}, {"memory", "\"1e9999\"", INT64_MAX}, {"memory", "\"1e-9999\"", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t amount = fakes_quantity(cases[i].resource, fakes_json(cases[i].json));
        if (amount != cases[i].amount)
            fprintf(stderr, "%s %s: %lld\n", cases[i].resource, cases[i].json, (long long)amount);
        CHECK(amount == cases[i].amount);
    }
}

static void a_node_is_seen_with_the_pods_that_are_on_it(void)
{
    struct fake_request request = {
        .node = "{\"metadata\": {\"name\": \"n1\", \"labels\": {\"disk\": \"fast\"}}, \"spec\": {\"taints\": [{\"key\": \"a\", \"effect\": \"NoSchedule\"}]},"
                "\"status\": {\"capacity\": {\"cpu\": \"4\"}, \"allocatable\": {\"cpu\": \"3\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}",
        .other_pods = (const char *const[]){"{\"spec\": {\"containers\": [{\"name\": \"c\", \"resources\": {\"requests\": {\"cpu\": \"1\"}},"
                                            "\"ports\": [{\"containerPort\": 53, \"hostPort\": 53, \"protocol\": \"UDP\"}]}]}}",
                                            NULL},
        .facts = (const char *const[]){"os", "linux", NULL},
        .used = (const struct fake_used[]){{"memory", 7}, {NULL, 0}},
    };
    fakes_asked = &request;
    fakes_begin();
    length = 0;
    {
        int64_t amount;
        plugin_string_t text;
        WITLET_DROPPED(node) node = witlet_request_node((witlet_request_t){1});
        WITLET_DROPPED(condition) ready = {0};
        put_text(witlet_node_name(node));
        put_option(witlet_node_label(node, WITLET_TEXT("disk"), &text), &text);
        put_option(witlet_node_fact(node, WITLET_TEXT("os"), &text), &text);
        put_option(witlet_node_fact(node, WITLET_TEXT("arch"), &text), &text);
        put_number(witlet_node_requested(node, WITLET_TEXT("cpu")));
        put_number(witlet_node_requested(node, WITLET_TEXT("pods")));
        put_optional_number(witlet_node_available(node, WITLET_TEXT("cpu"), &amount), &amount);
        put_optional_number(witlet_node_available(node, WITLET_TEXT("none"), &amount), &amount);
        put_optional_number(witlet_node_used(node, WITLET_TEXT("memory"), &amount), &amount);
        put_optional_number(witlet_node_used(node, WITLET_TEXT("cpu"), &amount), &amount);
        put_texts(witlet_node_resources(node));
        put_flag(witlet_node_condition(node, WITLET_TEXT("Ready"), &ready));
        put_text(witlet_condition_status(ready));
        put_text(witlet_node_devices(node));
        put_option(witlet_node_pointer(node, WITLET_TEXT("/spec/taints/0/key"), &text), &text);
        WITLET_DROPPED(host_port_list) ports = witlet_node_used_host_ports(node);
        put_number(witlet_host_port_number(ports.ptr[0]));
    }
    CHECK_TEXT(fakes_end(true, (witlet_host_errors_own_error_t){0}), "");
    CHECK_TEXT(found, "\"n1\",\"fast\",\"linux\",null,1000,1,2000,null,7,null,[\"cpu\",\"pods\"],true,\"True\",\"[]\",\"\"a\"\",53");
}

int main(void)
{
    manifests_are_read_as_the_host_reads_pods();
    quantities_are_rounded_away_from_zero();
    a_node_is_seen_with_the_pods_that_are_on_it();
    return CHECKS_END();
}
