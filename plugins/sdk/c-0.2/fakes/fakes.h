/* What the fakes of all roles have in common: things that the host hands out, and what the plugin says. Unit tests include the role's own
 * header (fakes/admission/admission.h and so on), not this one.
 *
 * The fakes are stricter than a mistake deserves: a thing that is used after it was dropped, one that isn't of its kind, and a text that isn't
 * UTF-8 end the test program with a message, as they make a component trap.
 */
#ifndef FAKES_H
#define FAKES_H

#include "json.h"
#include "witlet.h"

/* ---- What the plugin has said in this call ---- */

/* Begins a call: nothing is said, no thing is there. */
void fakes_begin(void);

/* Adds a part, made as by printf; "; " stands between two. Parts beyond 64 KiB are cut. */
__attribute__((format(printf, 1, 2))) void fakes_say(const char *format, ...);

/* Ends a call: what was said, or "error CODE: MESSAGE" if it failed. It counts things that weren't dropped. */
const char *fakes_end(bool good, witlet_host_errors_own_error_t error);

/* Fails the test program with a message. */
__attribute__((format(printf, 1, 2), noreturn)) void fakes_fail(const char *format, ...);

/* A view of a text that the plugin hands over. */
witlet_text fakes_given(const plugin_string_t *text);

/* ---- Things that are handed out ---- */

struct fake_thing {
    /* The resource's name in WIT; NULL once it is dropped. */
    const char *kind;
    /* Its part of a manifest, and the manifest of its pod. */
    witlet_text json, of;
    /* Where it stands: spec.containers[0]. */
    char place[96];
    /* What it is besides, by its kind. */
    int64_t number;
};

/* Makes a thing, and its handle. */
int32_t fakes_make(const char *kind, witlet_text json, witlet_text of);

/* The thing of a handle. */
struct fake_thing *fakes_thing(int32_t handle, const char *kind);

void fakes_drop(int32_t handle, const char *kind);

/* ---- Values of manifests: what is missing, or of another type, is nothing ---- */

/* Reads a JSON text; NULL is nothing. Fails if it is no JSON text. */
witlet_text fakes_json(const char *text);

/* What a value has below these names, ended by NULL. */
#define FAKES_GET(value, ...) fakes_get(value, (const char *const[]){__VA_ARGS__, NULL})
witlet_text fakes_get(witlet_text value, const char *const *path);

/* The member of an object with this key. */
witlet_text fakes_member(witlet_text object, witlet_text key);

/* An item of an array. */
witlet_text fakes_item(witlet_text array, size_t index);

/* The value at a JSON pointer. */
witlet_text fakes_pointer(witlet_text value, witlet_text path);

bool fakes_flag(witlet_text value);
bool fakes_number(witlet_text value, int64_t *number);

/* Hands a value over as the text that it is; false, and nothing, where it is none. */
bool fakes_text(witlet_text value, plugin_string_t *text);

/* The same as JSON. */
bool fakes_written(witlet_text value, plugin_string_t *text);

/* The texts of an array, the values of an object of texts, sorted by key, and the same of C strings ended by NULL: key, value, … */
void fakes_texts(witlet_text array, plugin_list_string_t *list);
void fakes_pairs(witlet_text object, plugin_list_tuple2_string_string_t *list);
void fakes_c_pairs(const char *const *pairs, plugin_list_tuple2_string_string_t *list);
bool fakes_c_value(const char *const *pairs, witlet_text key, plugin_string_t *value);

/* Memory for a list that the plugin frees. */
void *fakes_allocate(size_t count, size_t size);

#endif
