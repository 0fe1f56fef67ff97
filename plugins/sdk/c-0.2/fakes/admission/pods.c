/* Pods, with their owners, volumes and ports of the host. */
#include <arpa/inet.h>

#include "things.h"

#include "../amounts.h"

RESOURCES(pod)
RESOURCES(owner)
RESOURCES(volume)
RESOURCES(host_port)

static witlet_text metadata(const struct fake_thing *it, const char *field)
{
    return FAKES_GET(it->json, "metadata", field);
}

static witlet_text spec(const struct fake_thing *it, const char *field)
{
    return FAKES_GET(it->json, "spec", field);
}

static bool is_false(witlet_text value)
{
    return witlet_json_is_bool(value) && !witlet_json_is_true(value);
}

/* Whether a volume brings a token of the service account. */
static bool brings_token(witlet_text volumes)
{
    for (witlet_json_items items = witlet_json_each(volumes); witlet_json_next(&items);) {
        witlet_text sources = FAKES_GET(items.value, "projected", "sources");
        for (witlet_json_items each = witlet_json_each(sources); witlet_json_next(&each);) {
            witlet_text token = witlet_json_member(each.value, "serviceAccountToken");
            if (token.len > 0 && !witlet_json_is_null(token))
                return true;
        }
    }
    return false;
}

TEXT(pod, namespace, metadata(it, "namespace"))
TEXT(pod, name, metadata(it, "name"))
TEXT(pod, uid, metadata(it, "uid"))
TEXT(pod, priority_class, spec(it, "priorityClassName"))
TEXT(pod, runtime_class, spec(it, "runtimeClassName"))
FLAG(pod, has_service_account_token, brings_token(spec(it, "volumes")))
FLAG(pod, host_network, fakes_flag(spec(it, "hostNetwork")))
FLAG(pod, host_pid, fakes_flag(spec(it, "hostPID")))
FLAG(pod, host_ipc, fakes_flag(spec(it, "hostIPC")))
FLAG(pod, host_users, !is_false(spec(it, "hostUsers")))
POINTER(pod)
LIST(pod, owners, owner, metadata(it, "ownerReferences"))

void T(method_pod_source)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    (void)it;
    *ret = witlet_copy(witlet_view_c(fakes_asked->source != NULL ? fakes_asked->source : "file"));
}

bool T(method_pod_label)(SELF(pod), plugin_string_t *key, plugin_string_t *ret)
{
    IT(pod);
    return fakes_text(fakes_member(metadata(it, "labels"), fakes_given(key)), ret);
}

void T(method_pod_labels)(SELF(pod), plugin_list_tuple2_string_string_t *ret)
{
    IT(pod);
    fakes_pairs(metadata(it, "labels"), ret);
}

bool T(method_pod_annotation)(SELF(pod), plugin_string_t *key, plugin_string_t *ret)
{
    IT(pod);
    return fakes_text(fakes_member(metadata(it, "annotations"), fakes_given(key)), ret);
}

void T(method_pod_annotations)(SELF(pod), plugin_list_tuple2_string_string_t *ret)
{
    IT(pod);
    fakes_pairs(metadata(it, "annotations"), ret);
}

void T(method_pod_service_account)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    fakes_text(spec(it, "serviceAccountName"), ret);
    if (ret->len == 0)
        *ret = witlet_copy(WITLET_TEXT("default"));
}

int32_t T(method_pod_priority)(SELF(pod))
{
    IT(pod);
    int64_t priority;
    return witlet_json_integer(spec(it, "priority"), INT32_MIN, INT32_MAX, &priority) ? (int32_t)priority : 0;
}

bool T(method_pod_runtime_handler)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    plugin_string_t class;
    fakes_text(spec(it, "runtimeClassName"), &class);
    bool is_default = class.len == 0;
    if (is_default)
        *ret = (plugin_string_t){NULL, 0};
    bool is_known = is_default || fakes_c_value(fakes_asked->runtime_handlers, witlet_view(class), ret);
    plugin_string_free(&class);
    return is_known;
}

void T(method_pod_qos)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    *ret = witlet_copy(witlet_view_c(fakes_qos(it->json)));
}

void T(method_pod_json)(SELF(pod), plugin_string_t *ret)
{
    IT(pod);
    *ret = witlet_copy(it->json.len > 0 ? it->json : WITLET_TEXT("{}"));
}

void T(method_pod_containers)(SELF(pod), T(list_own_container_t) * ret)
{
    IT(pod);
    size_t count = 0;
    for (int list = 0; list < FAKES_CONTAINER_LISTS; list++)
        count += fakes_container_count(it->json, list);
    *ret = (T(list_own_container_t)){(T(own_container_t) *)fakes_allocate(count, sizeof *ret->ptr), 0};
    for (int list = 0; list < FAKES_CONTAINER_LISTS; list++) {
        for (size_t index = 0; index < fakes_container_count(it->json, list); index++)
            ret->ptr[ret->len++] = (T(own_container_t)){fakes_container(it->json, list, index)};
    }
}

static bool is_image(witlet_text volume)
{
    return witlet_json_is_object(witlet_json_member(volume, "image"));
}

static int32_t image_of(witlet_text volume, size_t index)
{
    return fakes_image(FAKES_GET(volume, "image", "reference"), "spec.volumes[%zu].image.reference", index);
}

void T(method_pod_images)(SELF(pod), T(list_own_image_t) * ret)
{
    IT(pod);
    T(list_own_container_t) containers;
    T(method_pod_containers)(self, &containers);
    size_t count = containers.len, index = 0;
    for (witlet_json_items items = witlet_json_each(spec(it, "volumes")); witlet_json_next(&items);)
        count += is_image(items.value);
    *ret = (T(list_own_image_t)){(T(own_image_t) *)fakes_allocate(count, sizeof *ret->ptr), 0};
    for (size_t i = 0; i < containers.len; i++) {
        ret->ptr[ret->len++] = T(method_container_image)(T(borrow_container)(containers.ptr[i]));
        T(container_drop_own)(containers.ptr[i]);
    }
    T(list_own_container_free)(&containers);
    for (witlet_json_items items = witlet_json_each(spec(it, "volumes")); witlet_json_next(&items); index++) {
        if (is_image(items.value))
            ret->ptr[ret->len++] = (T(own_image_t)){image_of(items.value, index)};
    }
}

void T(method_pod_volumes)(SELF(pod), T(list_own_volume_t) * ret)
{
    IT(pod);
    witlet_text volumes = spec(it, "volumes");
    *ret = (T(list_own_volume_t)){(T(own_volume_t) *)fakes_allocate(witlet_json_count(volumes), sizeof *ret->ptr), 0};
    for (witlet_json_items items = witlet_json_each(volumes); witlet_json_next(&items);) {
        int32_t handle = fakes_make("volume", items.value, it->json);
        fakes_thing(handle, "volume")->number = (int64_t)ret->len;
        ret->ptr[ret->len++] = (T(own_volume_t)){handle};
    }
}

static void amounts_of(const struct fake_thing *it, const char *part, struct fake_amounts *amounts)
{
    *amounts = (struct fake_amounts){0};
    fakes_amounts_of_pod(amounts, witlet_json_member(it->json, "spec"), part);
}

void T(method_pod_resources)(SELF(pod), plugin_list_string_t *ret)
{
    IT(pod);
    struct fake_amounts requests, limits;
    amounts_of(it, "requests", &requests);
    amounts_of(it, "limits", &limits);
    fakes_amount_names(&requests, &limits, ret);
}

#define AMOUNT(getter, part)                                                                                           \
    bool T(method_pod_##getter)(SELF(pod), plugin_string_t * resource, int64_t *ret)                                   \
    {                                                                                                                  \
        IT(pod);                                                                                                       \
        struct fake_amounts amounts;                                                                                   \
        amounts_of(it, part, &amounts);                                                                                \
        return fakes_amount(&amounts, fakes_given(resource), ret);                                                     \
    }
AMOUNT(request, "requests")
AMOUNT(limit, "limits")

/* ---- Ports of the host ---- */

/* Those of one container. */
static size_t ports_of(witlet_text container, bool host_network, T(own_host_port_t) * ports, size_t count)
{
    for (witlet_json_items items = witlet_json_each(witlet_json_member(container, "ports")); witlet_json_next(&items);) {
        uint16_t port;
        int64_t zero = 0;
        witlet_text taken = witlet_json_member(items.value, "hostPort");
        bool is_none = !fakes_number(taken, &zero) || zero == 0;
        if (!fakes_port(is_none && host_network ? witlet_json_member(items.value, "containerPort") : taken, &port))
            continue;
        if (ports != NULL) {
            ports[count] = (T(own_host_port_t)){fakes_make("host_port", items.value, (witlet_text){NULL, 0})};
            fakes_thing(ports[count].__handle, "host_port")->number = port;
        }
        count++;
    }
    return count;
}

size_t fakes_host_ports(witlet_text pod, T(own_host_port_t) * ports, size_t count)
{
    bool host_network = fakes_flag(FAKES_GET(pod, "spec", "hostNetwork"));
    for (witlet_json_items items = witlet_json_each(FAKES_GET(pod, "spec", "containers")); witlet_json_next(&items);)
        count = ports_of(items.value, host_network, ports, count);
    for (witlet_json_items items = witlet_json_each(FAKES_GET(pod, "spec", "initContainers")); witlet_json_next(&items);) {
        if (fakes_is_sidecar(items.value))
            count = ports_of(items.value, host_network, ports, count);
    }
    return count;
}

void T(method_pod_host_ports)(SELF(pod), T(list_own_host_port_t) * ret)
{
    IT(pod);
    ret->ptr = (T(own_host_port_t) *)fakes_allocate(fakes_host_ports(it->json, NULL, 0), sizeof *ret->ptr);
    ret->len = fakes_host_ports(it->json, ret->ptr, 0);
}

bool T(method_host_port_address)(SELF(host_port), plugin_string_t *ret)
{
    IT(host_port);
    plugin_string_t text = witlet_json_string(witlet_json_member(it->json, "hostIP"));
    char address[INET6_ADDRSTRLEN];
    snprintf(address, sizeof address, "%.*s", WITLET_ARGS(witlet_view(text)));
    bool fits = text.len < sizeof address;
    plugin_string_free(&text);
    unsigned char bytes[16], zeros[16] = {0};
    int family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    if (!fits || inet_pton(family, address, bytes) != 1 || memcmp(bytes, zeros, family == AF_INET6 ? 16 : 4) == 0)
        return false;
    *ret = witlet_copy(witlet_view_c(inet_ntop(family, bytes, address, sizeof address)));
    return true;
}

void T(method_host_port_protocol)(SELF(host_port), plugin_string_t *ret)
{
    IT(host_port);
    fakes_protocol(witlet_json_member(it->json, "protocol"), ret);
}

uint16_t T(method_host_port_number)(SELF(host_port))
{
    IT(host_port);
    return (uint16_t)it->number;
}

/* ---- Owners and volumes ---- */

TEXT(owner, api_version, witlet_json_member(it->json, "apiVersion"))
TEXT(owner, kind, witlet_json_member(it->json, "kind"))
TEXT(owner, name, witlet_json_member(it->json, "name"))
TEXT(owner, uid, witlet_json_member(it->json, "uid"))
FLAG(owner, is_controller, fakes_flag(witlet_json_member(it->json, "controller")))

TEXT(volume, name, witlet_json_member(it->json, "name"))
POINTER(volume)

/* The first in the alphabet, if there are several. */
void T(method_volume_kind)(SELF(volume), plugin_string_t *ret)
{
    IT(volume);
    *ret = (plugin_string_t){NULL, 0};
    for (witlet_json_items items = witlet_json_each(it->json); witlet_json_next(&items);) {
        plugin_string_t kind = witlet_json_string(items.key);
        size_t both = kind.len < ret->len ? kind.len : ret->len;
        bool is_earlier = ret->len == 0 || (both > 0 && memcmp(kind.ptr, ret->ptr, both) < 0);
        bool is_kind = !witlet_json_equal(items.key, "name") && !witlet_json_is_null(items.value);
        plugin_string_t other = kind;
        if (is_kind && is_earlier) {
            other = *ret;
            *ret = kind;
        }
        plugin_string_free(&other);
    }
}

bool T(method_volume_host_path)(SELF(volume), plugin_string_t *ret)
{
    IT(volume);
    return fakes_text(FAKES_GET(it->json, "hostPath", "path"), ret);
}

bool T(method_volume_image)(SELF(volume), T(own_image_t) * ret)
{
    IT(volume);
    if (is_image(it->json))
        *ret = (T(own_image_t)){image_of(it->json, (size_t)it->number)};
    return is_image(it->json);
}
