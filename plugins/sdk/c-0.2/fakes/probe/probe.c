#include "probe.h"

#include "../fakes.h"

#define T(name) witlet_probe_probe_types_##name
#define SELF(thing) T(borrow_##thing##_t) self
#define IT(thing) const struct fake_thing *it = fakes_thing(self.__handle, #thing)
/* The arguments of a `%.*s` for a text that the plugin hands over. */
#define GIVEN(text) WITLET_ARGS(fakes_given(text))
#define TIMEOUT_MILLISECONDS 10000

const struct fake_target *fakes_probed;
int64_t fake_latency = -1;

/* A text of the plugin's argument, which is its own. */
static plugin_string_t handed(const char *text)
{
    return witlet_copy(witlet_view_c(text));
}

/* What was said, or that all is well. */
static const char *ended(bool good, witlet_host_errors_own_error_t error)
{
    const char *said = fakes_end(good, error);
    return said[0] == '\0' ? "ok" : said;
}

const char *fake_validate(const char *config)
{
    plugin_string_t text = handed(config);
    witlet_host_errors_own_error_t error = {0};
    fakes_begin();
    bool good = exports_witlet_probe_prober_validate((T(borrow_setup_t)){1}, &text, &error);
    return ended(good, error);
}

const char *fake_check_parameters(const char *parameters)
{
    plugin_string_t text = handed(parameters);
    witlet_host_errors_own_error_t error = {0};
    fakes_begin();
    bool good = exports_witlet_probe_prober_check_parameters((T(borrow_check_t)){1}, &text, &error);
    return ended(good, error);
}

const char *fake_probe(const struct fake_target *target, const char *parameters)
{
    plugin_string_t text = handed(parameters);
    witlet_host_errors_own_error_t error = {0};
    fakes_probed = target;
    fake_latency = -1;
    fakes_begin();
    bool good = exports_witlet_probe_prober_probe((T(borrow_target_t)){1}, &text, (T(borrow_answer_t)){1}, &error);
    return fakes_end(good, error);
}

/* ---- What the probe type says ---- */

void T(method_setup_warn)(T(borrow_setup_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

void T(method_check_warn)(T(borrow_check_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

#define SAYS(outcome)                                                                                                  \
    void T(method_answer_##outcome)(T(borrow_answer_t) self, plugin_string_t * message)                                \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        fakes_say(#outcome ": %.*s", GIVEN(message));                                                                  \
    }
SAYS(success)
SAYS(failure)
SAYS(unknown)

void T(method_answer_warn)(T(borrow_answer_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

void T(method_answer_latency)(T(borrow_answer_t) self, uint64_t nanoseconds)
{
    (void)self;
    fake_latency = nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds;
}

void T(method_answer_annotate)(T(borrow_answer_t) self, plugin_string_t *key, plugin_string_t *value)
{
    (void)self;
    fakes_say("%.*s=%.*s", GIVEN(key), GIVEN(value));
}

/* ---- The target ---- */

T(own_pod_t) T(method_target_pod)(SELF(target))
{
    (void)self;
    witlet_text json = fakes_json(fakes_probed->pod);
    return (T(own_pod_t)){fakes_make("pod", json, json)};
}

/* The container with the target's name, or the first one; nothing if there is none. */
T(own_container_t) T(method_target_container)(SELF(target))
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    (void)self;
    witlet_text pod = fakes_json(fakes_probed->pod);
    const char *name = fakes_probed->container;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (witlet_json_items items = witlet_json_each(FAKES_GET(pod, "spec", lists[i])); witlet_json_next(&items);) {
            if (name == NULL ? i == 0 : witlet_json_equal(witlet_json_member(items.value, "name"), name))
                return (T(own_container_t)){fakes_make("container", items.value, pod)};
        }
    }
    return (T(own_container_t)){fakes_make("container", (witlet_text){NULL, 0}, pod)};
}

void T(method_target_kind)(SELF(target), plugin_string_t *ret)
{
    (void)self;
    *ret = handed(fakes_probed->kind != NULL ? fakes_probed->kind : "readiness");
}

uint64_t T(method_target_timeout_milliseconds)(SELF(target))
{
    (void)self;
    return fakes_probed->timeout_milliseconds > 0 ? fakes_probed->timeout_milliseconds : TIMEOUT_MILLISECONDS;
}

uint64_t T(method_target_remaining_milliseconds)(SELF(target))
{
    uint64_t remaining = fakes_probed->remaining_milliseconds;
    return remaining > 0 ? remaining : T(method_target_timeout_milliseconds)(self);
}

/* ---- Its pod ---- */

#define RESOURCE(thing)                                                                                                \
    T(borrow_##thing##_t) T(borrow_##thing)(T(own_##thing##_t) handle)                                                 \
    {                                                                                                                  \
        return (T(borrow_##thing##_t)){handle.__handle};                                                               \
    }                                                                                                                  \
    void T(thing##_drop_own)(T(own_##thing##_t) handle) { fakes_drop(handle.__handle, #thing); }
RESOURCE(pod)
RESOURCE(container)
RESOURCE(container_port)

#define TEXT(thing, getter, value)                                                                                     \
    void T(method_##thing##_##getter)(SELF(thing), plugin_string_t * ret)                                              \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        fakes_text(value, ret);                                                                                        \
    }
#define POINTER(thing)                                                                                                 \
    bool T(method_##thing##_pointer)(SELF(thing), plugin_string_t * path, plugin_string_t * ret)                       \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        return fakes_written(fakes_pointer(it->json, fakes_given(path)), ret);                                         \
    }
#define METADATA(getter, field)                                                                                        \
    bool T(method_pod_##getter)(SELF(pod), plugin_string_t * key, plugin_string_t * ret)                               \
    {                                                                                                                  \
        IT(pod);                                                                                                       \
        return fakes_text(fakes_member(FAKES_GET(it->json, "metadata", field), fakes_given(key)), ret);                \
    }                                                                                                                  \
    void T(method_pod_##getter##s)(SELF(pod), plugin_list_tuple2_string_string_t * ret)                                \
    {                                                                                                                  \
        IT(pod);                                                                                                       \
        fakes_pairs(FAKES_GET(it->json, "metadata", field), ret);                                                      \
    }

TEXT(pod, namespace, FAKES_GET(it->json, "metadata", "namespace"))
TEXT(pod, name, FAKES_GET(it->json, "metadata", "name"))
TEXT(pod, uid, FAKES_GET(it->json, "metadata", "uid"))
METADATA(label, "labels")
METADATA(annotation, "annotations")
POINTER(pod)

/* Texts of the test's, ended by NULL. */
static void texts(const char *const *of, plugin_list_string_t *ret)
{
    size_t count = 0;
    while (of != NULL && of[count] != NULL)
        count++;
    *ret = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(count, sizeof *ret->ptr), count};
    for (size_t i = 0; i < count; i++)
        ret->ptr[i] = handed(of[i]);
}

void T(method_pod_addresses)(SELF(pod), plugin_list_string_t *ret)
{
    fakes_thing(self.__handle, "pod");
    texts(fakes_probed->addresses, ret);
}

void T(method_pod_host_addresses)(SELF(pod), plugin_list_string_t *ret)
{
    fakes_thing(self.__handle, "pod");
    texts(fakes_probed->host_addresses, ret);
}

bool T(method_pod_host_network)(SELF(pod))
{
    IT(pod);
    return fakes_flag(FAKES_GET(it->json, "spec", "hostNetwork"));
}

void T(method_pod_json)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    *ret = witlet_copy(it->json.len > 0 ? it->json : WITLET_TEXT("{}"));
}

/* ---- Its container ---- */

TEXT(container, image, witlet_json_member(it->json, "image"))
POINTER(container)

void T(method_container_name)(SELF(container), plugin_string_t *ret)
{
    IT(container);
    if (!fakes_text(witlet_json_member(it->json, "name"), ret))
        *ret = handed(fakes_probed->container != NULL ? fakes_probed->container : "");
}

void T(method_container_id)(SELF(container), plugin_string_t *ret)
{
    fakes_thing(self.__handle, "container");
    *ret = handed(fakes_probed->id != NULL ? fakes_probed->id : "");
}

uint32_t T(method_container_restarts)(SELF(container))
{
    fakes_thing(self.__handle, "container");
    return fakes_probed->restarts;
}

void T(method_container_ports)(SELF(container), T(list_own_container_port_t) * ret)
{
    IT(container);
    witlet_text ports = witlet_json_member(it->json, "ports");
    ret->ptr = (T(own_container_port_t) *)fakes_allocate(witlet_json_count(ports), sizeof *ret->ptr);
    ret->len = 0;
    for (witlet_json_items items = witlet_json_each(ports); witlet_json_next(&items);)
        ret->ptr[ret->len++] = (T(own_container_port_t)){fakes_make("container_port", items.value, it->of)};
}

void T(list_own_container_port_free)(T(list_own_container_port_t) * list)
{
    if (list->len > 0)
        free(list->ptr);
}

/* A port's number; 0 if it is none. */
static uint16_t number(witlet_text port)
{
    int64_t number;
    return witlet_json_integer(witlet_json_member(port, "containerPort"), 1, UINT16_MAX, &number) ? (uint16_t)number : 0;
}

bool T(method_container_port)(SELF(container), plugin_string_t *name, uint16_t *ret)
{
    IT(container);
    for (witlet_json_items items = witlet_json_each(witlet_json_member(it->json, "ports")); witlet_json_next(&items);) {
        plugin_string_t own = witlet_json_string(witlet_json_member(items.value, "name"));
        bool is_it = own.len > 0 && witlet_equal(witlet_view(own), fakes_given(name));
        plugin_string_free(&own);
        if (!is_it)
            continue;
        *ret = number(items.value);
        return true;
    }
    return false;
}

TEXT(container_port, name, witlet_json_member(it->json, "name"))

uint16_t T(method_container_port_number)(SELF(container_port))
{
    IT(container_port);
    return number(it->json);
}

void T(method_container_port_protocol)(SELF(container_port), plugin_string_t *ret)
{
    IT(container_port);
    if (!fakes_text(witlet_json_member(it->json, "protocol"), ret))
        *ret = handed("TCP");
}
