#include "fakes.h"

#include <stdlib.h>

/* ---- What the plugin has said ---- */

static char said[64 << 10];
static size_t said_length;

/* How many things a call may have at most. */
#define THINGS_MAX 4096
static struct fake_thing things[THINGS_MAX];
static int32_t things_count;

/* Errors that the plugin or a fake has made. */
#define ERRORS_MAX 16
#define DETAILS_MAX 16
static struct error {
    bool is_there, waits;
    plugin_string_t code, message, keys[DETAILS_MAX], values[DETAILS_MAX];
    size_t details;
    uint64_t milliseconds;
} errors[ERRORS_MAX];

void fakes_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("the plugin would trap: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    abort();
}

void fakes_begin(void)
{
    said_length = 0;
    said[0] = '\0';
    things_count = 0;
}

void fakes_say(const char *format, ...)
{
    size_t left = sizeof said - said_length;
    int before = said_length == 0 ? 0 : snprintf(said + said_length, left, "; ");
    va_list arguments;
    va_start(arguments, format);
    int more = (size_t)before < left ? vsnprintf(said + said_length + before, left - (size_t)before, format, arguments) : 0;
    va_end(arguments);
    said_length += (size_t)before + (size_t)(more > 0 ? more : 0);
    if (said_length >= sizeof said)
        said_length = sizeof said - 1;
}

witlet_text fakes_given(const plugin_string_t *text)
{
    if (!witlet_is_utf8(witlet_view(*text)))
        fakes_fail("a text for the host isn't UTF-8: \"%.*s\"", WITLET_ARGS(witlet_view(*text)));
    return witlet_view(*text);
}

/* ---- Things ---- */

int32_t fakes_make(const char *kind, witlet_text json, witlet_text of)
{
    if (things_count == THINGS_MAX)
        fakes_fail("more than %d things were handed out in a call", THINGS_MAX);
    things[things_count] = (struct fake_thing){.kind = kind, .json = json, .of = of};
    return ++things_count;
}

struct fake_thing *fakes_thing(int32_t handle, const char *kind)
{
    if (handle < 1 || handle > things_count)
        fakes_fail("%d is no handle of a %s", (int)handle, kind);
    struct fake_thing *thing = &things[handle - 1];
    if (thing->kind == NULL)
        fakes_fail("a %s was used after it was dropped", kind);
    if (strcmp(thing->kind, kind) != 0)
        fakes_fail("a %s was used as a %s", thing->kind, kind);
    return thing;
}

void fakes_drop(int32_t handle, const char *kind)
{
    fakes_thing(handle, kind)->kind = NULL;
}

/* ---- Errors of witlet:host/errors ---- */

static struct error *error_of(int32_t handle)
{
    if (handle < 1 || handle > ERRORS_MAX || !errors[handle - 1].is_there)
        fakes_fail("%d is no handle of an error", (int)handle);
    return &errors[handle - 1];
}

witlet_host_errors_own_error_t witlet_host_errors_constructor_error(plugin_string_t *code, plugin_string_t *message)
{
    for (int32_t at = 0; at < ERRORS_MAX; at++) {
        if (errors[at].is_there)
            continue;
        errors[at] = (struct error){.is_there = true};
        errors[at].code = witlet_copy(fakes_given(code));
        errors[at].message = witlet_copy(fakes_given(message));
        return (witlet_host_errors_own_error_t){at + 1};
    }
    fakes_fail("more than %d errors are there at a time", ERRORS_MAX);
}

witlet_host_errors_borrow_error_t witlet_host_errors_borrow_error(witlet_host_errors_own_error_t handle)
{
    return (witlet_host_errors_borrow_error_t){handle.__handle};
}

void witlet_host_errors_error_drop_own(witlet_host_errors_own_error_t handle)
{
    struct error *error = error_of(handle.__handle);
    plugin_string_free(&error->code);
    plugin_string_free(&error->message);
    for (size_t i = 0; i < error->details; i++) {
        plugin_string_free(&error->keys[i]);
        plugin_string_free(&error->values[i]);
    }
    error->is_there = false;
}

void witlet_host_errors_method_error_code(witlet_host_errors_borrow_error_t self, plugin_string_t *ret)
{
    *ret = witlet_copy(witlet_view(error_of(self.__handle)->code));
}

void witlet_host_errors_method_error_message(witlet_host_errors_borrow_error_t self, plugin_string_t *ret)
{
    *ret = witlet_copy(witlet_view(error_of(self.__handle)->message));
}

bool witlet_host_errors_method_error_retry_after_milliseconds(witlet_host_errors_borrow_error_t self, uint64_t *ret)
{
    struct error *error = error_of(self.__handle);
    if (error->waits)
        *ret = error->milliseconds;
    return error->waits;
}

void witlet_host_errors_method_error_set_retry_after_milliseconds(witlet_host_errors_borrow_error_t self, uint64_t milliseconds)
{
    struct error *error = error_of(self.__handle);
    error->waits = true;
    error->milliseconds = milliseconds;
}

static plugin_string_t *detail_of(struct error *error, witlet_text key)
{
    for (size_t i = 0; i < error->details; i++) {
        if (witlet_equal(witlet_view(error->keys[i]), key))
            return &error->values[i];
    }
    return NULL;
}

bool witlet_host_errors_method_error_detail(witlet_host_errors_borrow_error_t self, plugin_string_t *key, plugin_string_t *ret)
{
    const plugin_string_t *value = detail_of(error_of(self.__handle), fakes_given(key));
    if (value != NULL)
        *ret = witlet_copy(witlet_view(*value));
    return value != NULL;
}

void witlet_host_errors_method_error_set_detail(witlet_host_errors_borrow_error_t self, plugin_string_t *key, plugin_string_t *value)
{
    struct error *error = error_of(self.__handle);
    plugin_string_t *old = detail_of(error, fakes_given(key)), kept = witlet_copy(fakes_given(value));
    if (old != NULL) {
        plugin_string_free(old);
        *old = kept;
    } else if (error->details < DETAILS_MAX) {
        error->keys[error->details] = witlet_copy(witlet_view(*key));
        error->values[error->details++] = kept;
    } else {
        plugin_string_free(&kept);
    }
}

const char *fakes_end(bool good, witlet_host_errors_own_error_t own)
{
    if (!good) {
        struct error *error = error_of(own.__handle);
        said_length = 0;
        fakes_say("error %.*s: %.*s", WITLET_ARGS(witlet_view(error->code)), WITLET_ARGS(witlet_view(error->message)));
        if (error->waits)
            fakes_say("retry after %llu ms", (unsigned long long)error->milliseconds);
        for (size_t i = 0; i < error->details; i++)
            fakes_say("%.*s=%.*s", WITLET_ARGS(witlet_view(error->keys[i])), WITLET_ARGS(witlet_view(error->values[i])));
        witlet_host_errors_error_drop_own(own);
    }
    int held = 0;
    for (int32_t at = 0; at < things_count; at++)
        held += things[at].kind != NULL;
    if (held > 0)
        fakes_say("%d things of the host's were never dropped", held);
    for (int32_t at = 0; at < ERRORS_MAX; at++) {
        if (errors[at].is_there) {
            fakes_say("an error was never dropped");
            witlet_host_errors_error_drop_own((witlet_host_errors_own_error_t){at + 1});
        }
    }
    return said;
}
