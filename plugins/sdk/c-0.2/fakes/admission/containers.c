/* Containers, with their images, ports and mounts. */
#include "things.h"

#include "../amounts.h"
#include "../images.h"

#define APPARMOR_ANNOTATION "container.apparmor.security.beta.kubernetes.io/"

static const char *const lists[FAKES_CONTAINER_LISTS] = {"initContainers", "containers", "ephemeralContainers"};

RESOURCES(container)
RESOURCES(container_port)
RESOURCES(mount)
RESOURCES(image)

size_t fakes_container_count(witlet_text pod, int list)
{
    return witlet_json_count(FAKES_GET(pod, "spec", lists[list]));
}

int32_t fakes_container(witlet_text pod, int list, size_t index)
{
    int32_t handle = fakes_make("container", fakes_item(FAKES_GET(pod, "spec", lists[list]), index), pod);
    struct fake_thing *it = fakes_thing(handle, "container");
    it->number = list;
    snprintf(it->place, sizeof it->place, "spec.%s[%zu]", lists[list], index);
    return handle;
}

/* A field of its security context, and the same or else its pod's. */
static witlet_text own(const struct fake_thing *it, const char *field)
{
    return FAKES_GET(it->json, "securityContext", field);
}

static witlet_text security(const struct fake_thing *it, const char *field)
{
    witlet_text value = own(it, field);
    bool is_there = value.len > 0 && !witlet_json_is_null(value);
    return is_there ? value : FAKES_GET(it->of, "spec", "securityContext", field);
}

static bool is_false(witlet_text value)
{
    return witlet_json_is_bool(value) && !witlet_json_is_true(value);
}

TEXT(container, name, witlet_json_member(it->json, "name"))
TEXT(container, pull_policy, witlet_json_member(it->json, "imagePullPolicy"))
FLAG(container, privileged, fakes_flag(own(it, "privileged")))
FLAG(container, run_as_non_root, fakes_flag(security(it, "runAsNonRoot")))
FLAG(container, allow_privilege_escalation, !is_false(own(it, "allowPrivilegeEscalation")))
FLAG(container, read_only_root_filesystem, fakes_flag(own(it, "readOnlyRootFilesystem")))
POINTER(container)
LIST(container, ports, container_port, witlet_json_member(it->json, "ports"))

void T(method_container_kind)(SELF(container), plugin_string_t *ret)
{
    IT(container);
    const char *init = fakes_is_sidecar(it->json) ? "sidecar" : "init";
    *ret = witlet_copy(witlet_view_c(it->number == 0 ? init : it->number == 1 ? "app" : "ephemeral"));
}

void T(method_container_place)(SELF(container), plugin_string_t *ret)
{
    IT(container);
    *ret = witlet_copy(witlet_view_c(it->place));
}

T(own_image_t) T(method_container_image)(SELF(container))
{
    IT(container);
    return (T(own_image_t)){fakes_image(witlet_json_member(it->json, "image"), "%s.image", it->place)};
}

static void amounts_of(const struct fake_thing *it, const char *part, struct fake_amounts *amounts)
{
    *amounts = (struct fake_amounts){0};
    fakes_amounts(amounts, FAKES_GET(it->json, "resources", part));
}

void T(method_container_resources)(SELF(container), plugin_list_string_t *ret)
{
    IT(container);
    struct fake_amounts requests, limits;
    amounts_of(it, "requests", &requests);
    amounts_of(it, "limits", &limits);
    fakes_amount_names(&requests, &limits, ret);
}

#define AMOUNT(getter, part)                                                                                           \
    bool T(method_container_##getter)(SELF(container), plugin_string_t * resource, int64_t *ret)                       \
    {                                                                                                                  \
        IT(container);                                                                                                 \
        struct fake_amounts amounts;                                                                                   \
        amounts_of(it, part, &amounts);                                                                                \
        return fakes_amount(&amounts, fakes_given(resource), ret);                                                     \
    }
AMOUNT(request, "requests")
AMOUNT(limit, "limits")

bool T(method_container_run_as_user)(SELF(container), int64_t *ret)
{
    IT(container);
    return fakes_number(security(it, "runAsUser"), ret);
}

bool T(method_container_run_as_group)(SELF(container), int64_t *ret)
{
    IT(container);
    return fakes_number(security(it, "runAsGroup"), ret);
}

/* A profile by its type, and by its name if it is on the node. */
static bool profile(witlet_text value, bool is_strict, plugin_string_t *ret)
{
    witlet_text type = witlet_json_member(value, "type"), name = witlet_json_member(value, "localhostProfile");
    bool is_local = witlet_json_equal(type, "Localhost");
    bool has_name = witlet_json_is_string(name) && !(is_strict && witlet_json_equal(name, ""));
    bool is_known = witlet_json_equal(type, "RuntimeDefault") || witlet_json_equal(type, "Unconfined");
    if (is_local && has_name) {
        plugin_string_t path = witlet_json_string(name);
        *ret = witlet_format("Localhost/%.*s", WITLET_ARGS(witlet_view(path)));
        plugin_string_free(&path);
        return true;
    }
    return (!is_strict || is_known) && fakes_text(type, ret);
}

bool T(method_container_seccomp_profile)(SELF(container), plugin_string_t *ret)
{
    IT(container);
    return profile(security(it, "seccompProfile"), false, ret);
}

/* What an annotation of old says; false if it says nothing. */
static bool annotated(witlet_text annotation, plugin_string_t *ret)
{
    plugin_string_t text = witlet_json_string(annotation);
    witlet_text view = witlet_view(text);
    const size_t local = strlen("localhost/");
    bool is_known = true;
    if (witlet_equal(view, WITLET_TEXT("runtime/default")))
        *ret = witlet_copy(WITLET_TEXT("RuntimeDefault"));
    else if (witlet_equal(view, WITLET_TEXT("unconfined")))
        *ret = witlet_copy(WITLET_TEXT("Unconfined"));
    else if (witlet_starts_with(view, WITLET_TEXT("localhost/")) && view.len > local)
        *ret = witlet_format("Localhost/%.*s", (int)(view.len - local), view.ptr + local);
    else
        is_known = false;
    plugin_string_free(&text);
    return is_known;
}

bool T(method_container_apparmor_profile)(SELF(container), plugin_string_t *ret)
{
    IT(container);
    witlet_text value = own(it, "appArmorProfile");
    if (value.len > 0 && !witlet_json_is_null(value))
        return profile(value, true, ret);
    plugin_string_t name = witlet_json_string(witlet_json_member(it->json, "name"));
    plugin_string_t key = witlet_format(APPARMOR_ANNOTATION "%.*s", WITLET_ARGS(witlet_view(name)));
    witlet_text annotation = fakes_member(FAKES_GET(it->of, "metadata", "annotations"), witlet_view(key));
    plugin_string_free(&name);
    plugin_string_free(&key);
    return annotated(annotation, ret) || profile(FAKES_GET(it->of, "spec", "securityContext", "appArmorProfile"), true, ret);
}

void T(method_container_added_capabilities)(SELF(container), plugin_list_string_t *ret)
{
    IT(container);
    fakes_texts(FAKES_GET(it->json, "securityContext", "capabilities", "add"), ret);
}

void T(method_container_dropped_capabilities)(SELF(container), plugin_list_string_t *ret)
{
    IT(container);
    fakes_texts(FAKES_GET(it->json, "securityContext", "capabilities", "drop"), ret);
}

void T(method_container_env_names)(SELF(container), plugin_list_string_t *ret)
{
    IT(container);
    witlet_text env = witlet_json_member(it->json, "env");
    *ret = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(witlet_json_count(env), sizeof *ret->ptr), 0};
    for (witlet_json_items items = witlet_json_each(env); witlet_json_next(&items);)
        ret->ptr[ret->len++] = witlet_json_string(witlet_json_member(items.value, "name"));
}

void T(method_container_mounts)(SELF(container), T(list_own_mount_t) * ret)
{
    IT(container);
    static const char *const fields[] = {"volumeMounts", "volumeDevices"};
    size_t count = 0;
    for (int i = 0; i < 2; i++)
        count += witlet_json_count(witlet_json_member(it->json, fields[i]));
    *ret = (T(list_own_mount_t)){(T(own_mount_t) *)fakes_allocate(count, sizeof *ret->ptr), 0};
    for (int i = 0; i < 2; i++) {
        for (witlet_json_items items = witlet_json_each(witlet_json_member(it->json, fields[i])); witlet_json_next(&items);) {
            int32_t handle = fakes_make("mount", items.value, it->of);
            fakes_thing(handle, "mount")->number = i;
            ret->ptr[ret->len++] = (T(own_mount_t)){handle};
        }
    }
}

/* ---- Ports and mounts ---- */

void fakes_protocol(witlet_text value, plugin_string_t *ret)
{
    if (witlet_json_equal(value, "UDP") || witlet_json_equal(value, "SCTP"))
        fakes_text(value, ret);
    else
        *ret = witlet_copy(WITLET_TEXT("TCP"));
}

bool fakes_port(witlet_text value, uint16_t *port)
{
    int64_t number;
    bool is_one = witlet_json_integer(value, 1, UINT16_MAX, &number);
    if (is_one)
        *port = (uint16_t)number;
    return is_one;
}

TEXT(container_port, name, witlet_json_member(it->json, "name"))

uint16_t T(method_container_port_number)(SELF(container_port))
{
    IT(container_port);
    uint16_t port = 0;
    fakes_port(witlet_json_member(it->json, "containerPort"), &port);
    return port;
}

void T(method_container_port_protocol)(SELF(container_port), plugin_string_t *ret)
{
    IT(container_port);
    fakes_protocol(witlet_json_member(it->json, "protocol"), ret);
}

bool T(method_container_port_host_port)(SELF(container_port), uint16_t *ret)
{
    IT(container_port);
    return fakes_port(witlet_json_member(it->json, "hostPort"), ret);
}

TEXT(mount, volume, witlet_json_member(it->json, "name"))
TEXT(mount, path, witlet_json_member(it->json, it->number == 1 ? "devicePath" : "mountPath"))
FLAG(mount, read_only, fakes_flag(witlet_json_member(it->json, "readOnly")))
FLAG(mount, is_device, it->number == 1)

void T(method_mount_sub_path)(SELF(mount), plugin_string_t *ret)
{
    IT(mount);
    fakes_text(witlet_json_member(it->json, "subPath"), ret);
    if (ret->len == 0)
        fakes_text(witlet_json_member(it->json, "subPathExpr"), ret);
}

/* ---- Images ---- */

int32_t fakes_image(witlet_text reference, const char *place, ...)
{
    int32_t handle = fakes_make("image", reference, (witlet_text){NULL, 0});
    struct fake_thing *it = fakes_thing(handle, "image");
    va_list arguments;
    va_start(arguments, place);
    vsnprintf(it->place, sizeof it->place, place, arguments);
    va_end(arguments);
    return handle;
}

TEXT(image, reference, it->json)

void T(method_image_place)(SELF(image), plugin_string_t *ret)
{
    IT(image);
    *ret = witlet_copy(witlet_view_c(it->place));
}

void T(method_image_name)(SELF(image), plugin_string_t *ret)
{
    IT(image);
    plugin_string_t text = witlet_json_string(it->json);
    struct fake_reference reference = fakes_reference(witlet_view(text));
    *ret = fakes_image_name(&reference, witlet_view(text));
    plugin_string_free(&text);
}

/* A part of the reference; false if it is empty. */
#define PART(getter, made)                                                                                             \
    bool T(method_image_##getter)(SELF(image), plugin_string_t * ret)                                                  \
    {                                                                                                                  \
        IT(image);                                                                                                     \
        plugin_string_t text = witlet_json_string(it->json);                                                           \
        struct fake_reference reference = fakes_reference(witlet_view(text));                                          \
        *ret = made;                                                                                                   \
        plugin_string_free(&text);                                                                                     \
        return ret->len > 0;                                                                                           \
    }
PART(registry, witlet_copy(reference.registry))
PART(repository, fakes_repository(&reference))
PART(tag, witlet_copy(reference.tag))
PART(digest, witlet_copy(reference.digest))
