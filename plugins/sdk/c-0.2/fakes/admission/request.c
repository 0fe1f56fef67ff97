/* Requests, and what the handler says. */
#include "things.h"

const struct fake_request *fakes_asked;

RESOURCE(resolved_image)

const char *fake_validate(const char *config)
{
    static const struct fake_request none;
    plugin_string_t text = witlet_copy(witlet_view_c(config));
    witlet_host_errors_own_error_t error = {0};
    fakes_asked = &none;
    fakes_begin();
    bool good = exports_witlet_admission_handler_validate((T(borrow_setup_t)){1}, &text, &error);
    return fakes_end(good, error);
}

const char *fake_admit(const struct fake_request *request)
{
    witlet_host_errors_own_error_t error = {0};
    fakes_asked = request;
    fakes_begin();
    bool good = exports_witlet_admission_handler_admit((T(borrow_request_t)){1}, (T(borrow_answer_t)){1}, &error);
    return fakes_end(good, error);
}

/* The arguments of a `%.*s` for a text that the plugin hands over. */
#define GIVEN(text) WITLET_ARGS(fakes_given(text))

/* ---- Setup ---- */

void T(method_setup_subscribe)(T(borrow_setup_t) self, plugin_string_t *operation)
{
    (void)self;
    fakes_say("subscribe %.*s", GIVEN(operation));
}

bool T(method_setup_knows)(T(borrow_setup_t) self, plugin_string_t *operation)
{
    static const char *const known[] = {"add", "resize", "update", "ephemeral", "image-resolved", "readmit", "recheck"};
    (void)self;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (witlet_equal(witlet_view_c(known[i]), fakes_given(operation)))
            return true;
    }
    return false;
}

void T(method_setup_warn)(T(borrow_setup_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

/* ---- The answer ---- */

void T(method_answer_admit)(T(borrow_answer_t) self)
{
    (void)self;
    fakes_say("admit");
}

void T(method_answer_reject)(T(borrow_answer_t) self, plugin_string_t *reason, plugin_string_t *message)
{
    (void)self;
    fakes_say("reject %.*s: %.*s", GIVEN(reason), GIVEN(message));
}

void T(method_answer_defer)(T(borrow_answer_t) self, plugin_string_t *reason, plugin_string_t *message, uint64_t milliseconds)
{
    (void)self;
    fakes_say("defer %.*s for %llu ms: %.*s", GIVEN(reason), (unsigned long long)milliseconds, GIVEN(message));
}

void T(method_answer_shortage)(T(borrow_answer_t) self, plugin_string_t *resource, int64_t requested, int64_t used, int64_t capacity)
{
    (void)self;
    fakes_say("shortage %.*s: %lld requested, %lld used, %lld there", GIVEN(resource), (long long)requested, (long long)used,
              (long long)capacity);
}

void T(method_answer_warn)(T(borrow_answer_t) self, plugin_string_t *message)
{
    (void)self;
    fakes_say("warn %.*s", GIVEN(message));
}

void T(method_answer_annotate)(T(borrow_answer_t) self, plugin_string_t *key, plugin_string_t *value)
{
    (void)self;
    fakes_say("%.*s=%.*s", GIVEN(key), GIVEN(value));
}

/* ---- The request ---- */

void T(method_request_operation)(T(borrow_request_t) self, plugin_string_t *ret)
{
    (void)self;
    *ret = witlet_copy(witlet_view_c(fakes_asked->operation != NULL ? fakes_asked->operation : "add"));
}

void T(method_request_now)(T(borrow_request_t) self, T(datetime_t) * ret)
{
    (void)self;
    *ret = (T(datetime_t)){fakes_asked->now_seconds, fakes_asked->now_nanoseconds};
}

static T(own_pod_t) pod(const char *manifest)
{
    witlet_text json = fakes_json(manifest);
    return (T(own_pod_t)){fakes_make("pod", json, json)};
}

T(own_pod_t) T(method_request_pod)(T(borrow_request_t) self)
{
    (void)self;
    return pod(fakes_asked->pod);
}

bool T(method_request_old_pod)(T(borrow_request_t) self, T(own_pod_t) * ret)
{
    (void)self;
    if (fakes_asked->old_pod != NULL)
        *ret = pod(fakes_asked->old_pod);
    return fakes_asked->old_pod != NULL;
}

T(own_node_t) T(method_request_node)(T(borrow_request_t) self)
{
    (void)self;
    witlet_text json = fakes_json(fakes_asked->node);
    return (T(own_node_t)){fakes_make("node", json, json)};
}

void T(method_request_other_pods)(T(borrow_request_t) self, T(list_own_pod_t) * ret)
{
    (void)self;
    size_t count = 0;
    while (fakes_asked->other_pods != NULL && fakes_asked->other_pods[count] != NULL)
        count++;
    *ret = (T(list_own_pod_t)){(T(own_pod_t) *)fakes_allocate(count, sizeof *ret->ptr), count};
    for (size_t i = 0; i < count; i++)
        ret->ptr[i] = pod(fakes_asked->other_pods[i]);
}

/* ---- The image that a container is to be started from ---- */

bool T(method_request_image)(T(borrow_request_t) self, T(own_resolved_image_t) * ret)
{
    (void)self;
    witlet_text json = fakes_json(fakes_asked->pod);
    if (fakes_asked->image != NULL)
        *ret = (T(own_resolved_image_t)){fakes_make("resolved_image", json, json)};
    return fakes_asked->image != NULL;
}

T(own_container_t) T(method_resolved_image_container)(SELF(resolved_image))
{
    IT(resolved_image);
    const char *name = fakes_asked->image->container;
    for (int list = 0; list < FAKES_CONTAINER_LISTS; list++) {
        for (size_t index = 0; index < fakes_container_count(it->json, list); index++) {
            int32_t handle = fakes_container(it->json, list, index);
            witlet_text of = witlet_json_member(fakes_thing(handle, "container")->json, "name");
            if (name == NULL ? list == 1 : witlet_json_equal(of, name))
                return (T(own_container_t)){handle};
            fakes_drop(handle, "container");
        }
    }
    fakes_fail("the pod has no container %s, whose image the test has", name != NULL ? name : "at all");
}

/* What the test says of the image; false if it says nothing. */
static bool said(const char *text, plugin_string_t *ret)
{
    if (text != NULL)
        *ret = witlet_copy(witlet_view_c(text));
    return text != NULL;
}

void T(method_resolved_image_id)(SELF(resolved_image), plugin_string_t *ret)
{
    IT(resolved_image);
    (void)it;
    if (!said(fakes_asked->image->id, ret))
        *ret = (plugin_string_t){NULL, 0};
}

bool T(method_resolved_image_digest)(SELF(resolved_image), plugin_string_t *ret)
{
    IT(resolved_image);
    (void)it;
    return said(fakes_asked->image->digest, ret);
}

bool T(method_resolved_image_size)(SELF(resolved_image), uint64_t *ret)
{
    IT(resolved_image);
    (void)it;
    *ret = fakes_asked->image->size;
    return *ret > 0;
}

bool T(method_resolved_image_credentials)(SELF(resolved_image), plugin_string_t *ret)
{
    IT(resolved_image);
    (void)it;
    return said(fakes_asked->image->credentials, ret);
}
