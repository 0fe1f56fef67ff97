/* Small helpers for plugins in C, on top of the generated bindings.
 *
 * Who owns what (the rule of the bindings, which these helpers keep):
 *
 *   - A text that an import gives you (`..._get(&text)`) is yours: free it with `plugin_string_free`. So are lists and
 *     records: each has its `..._free`, which frees all memory in it. Handles in it are left: drop them first.
 *   - A text that is an argument of one of your exports is yours too: free it before you return.
 *   - What you return (a verdict, an error's text) belongs to the bindings from then on: they free it when the host has
 *     read it. So everything in it must come from `malloc`, and never be a literal: `witlet_copy` and
 *     `witlet_format` make such texts.
 *   - What you pass to an import is only checked. It stays yours.
 *   - An owned handle (`..._own_pod_t`) ends with its `..._drop_own`. A borrowed one needs nothing: it is dropped when
 *     your export returns.
 *
 * In the comments below: a *view* checks bytes that another owns; it frees nothing and must not outlive them. An
 * *owned* text came from `malloc`.
 *
 * Out of memory ends the call with a trap; the host has a policy for that.
 */
#ifndef WITLET_H
#define WITLET_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* ---- Texts ---- */

/* A view of UTF-8 bytes. Not terminated by a NUL; it may contain some. */
typedef struct {
    const char *ptr;
    size_t len;
} witlet_text;

/* A view of a string literal. It lives as long as the program. */
#define WITLET_TEXT(literal) ((witlet_text){"" literal, sizeof(literal) - 1})

/* The two arguments of a `%.*s`: printf("%.*s", WITLET_ARGS(text)). */
#define WITLET_ARGS(text) (int)(text).len, (text).ptr

/* A view of a text of the bindings. */
static inline witlet_text witlet_view(plugin_string_t string)
{
    return (witlet_text){(const char *)string.ptr, string.len};
}

/* A view of a C string, without its NUL. */
static inline witlet_text witlet_view_c(const char *string)
{
    return (witlet_text){string, strlen(string)};
}

static inline bool witlet_equal(witlet_text a, witlet_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool witlet_starts_with(witlet_text text, witlet_text prefix)
{
    return text.len >= prefix.len && witlet_equal((witlet_text){text.ptr, prefix.len}, prefix);
}

static inline bool witlet_ends_with(witlet_text text, witlet_text suffix)
{
    return text.len >= suffix.len && witlet_equal((witlet_text){text.ptr + text.len - suffix.len, suffix.len}, suffix);
}

/* A borrowed text for an argument of an import. It must not be freed and not be returned. */
static inline plugin_string_t witlet_lend(witlet_text text)
{
    return (plugin_string_t){(uint8_t *)(uintptr_t)text.ptr, text.len};
}

/* An owned copy. */
static inline plugin_string_t witlet_copy(witlet_text text)
{
    /* The bindings free nothing of an empty text, so nothing is allocated for one. */
    if (text.len == 0)
        return (plugin_string_t){NULL, 0};
    uint8_t *bytes = malloc(text.len);
    if (bytes == NULL)
        abort();
    memcpy(bytes, text.ptr, text.len);
    return (plugin_string_t){bytes, text.len};
}

/* How many bytes the UTF-8 character at the beginning of `text` has; 0 if there is none, or no valid one. */
static inline size_t witlet_utf8_length(witlet_text text)
{
    const unsigned char *byte = (const unsigned char *)text.ptr;
    if (text.len == 0)
        return 0;
    if (byte[0] < 0x80)
        return 1;
    size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || text.len < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f))
        return 0;
    return length;
}

/* Whether bytes are UTF-8 throughout. Whatever goes to the host must be: other bytes make the call trap. */
static inline bool witlet_is_utf8(witlet_text bytes)
{
    while (bytes.len > 0) {
        size_t length = witlet_utf8_length(bytes);
        if (length == 0)
            return false;
        bytes = (witlet_text){bytes.ptr + length, bytes.len - length};
    }
    return true;
}

/* An owned copy of bytes from outside, with U+FFFD for each byte that is no part of a character. */
static inline plugin_string_t witlet_copy_lossy(witlet_text bytes)
{
    if (bytes.len == 0)
        return (plugin_string_t){NULL, 0};
    plugin_string_t text = {malloc(3 * bytes.len), 0};
    if (text.ptr == NULL)
        abort();
    while (bytes.len > 0) {
        size_t length = witlet_utf8_length(bytes);
        memcpy(text.ptr + text.len, length > 0 ? bytes.ptr : "\xef\xbf\xbd", length > 0 ? length : 3);
        text.len += length > 0 ? length : 3;
        length = length > 0 ? length : 1;
        bytes = (witlet_text){bytes.ptr + length, bytes.len - length};
    }
    return text;
}

/* As `witlet_format`, with the arguments in a list. */
static inline plugin_string_t witlet_format_list(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        abort();
    if (length == 0)
        return (plugin_string_t){NULL, 0};
    char *bytes = malloc((size_t)length + 1);
    if (bytes == NULL)
        abort();
    vsnprintf(bytes, (size_t)length + 1, format, arguments);
    return (plugin_string_t){(uint8_t *)bytes, (size_t)length};
}

/* An owned text, made as by printf. */
__attribute__((format(printf, 1, 2))) static inline plugin_string_t witlet_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plugin_string_t text = witlet_format_list(format, arguments);
    va_end(arguments);
    return text;
}

/* ---- Results ---- */

/* Makes an export end with an error in these words: `return witlet_fail(err, "port %d is taken", port);`. `error` is
 * owned by the caller afterwards, for an export by the bindings. */
__attribute__((format(printf, 2, 3))) static inline bool witlet_fail(plugin_string_t *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *error = witlet_format_list(format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Log ---- */

/* A name and a value for a line of the log. */
typedef struct {
    const char *name;
    witlet_text value;
} witlet_field;

/* How many fields `witlet_log` hands on; the host cuts there too. */
#define WITLET_FIELDS_MAX 16

/* Writes a line to the node's log; `level` is one of WITLET_HOST_LOG_LEVEL_…. Message and fields are only checked. */
static inline void witlet_log(witlet_host_log_level_t level, witlet_text message, const witlet_field *fields, size_t count)
{
    plugin_tuple2_string_string_t pairs[WITLET_FIELDS_MAX];
    if (count > WITLET_FIELDS_MAX)
        count = WITLET_FIELDS_MAX;
    for (size_t i = 0; i < count; i++) {
        pairs[i].f0 = witlet_lend(witlet_view_c(fields[i].name));
        pairs[i].f1 = witlet_lend(fields[i].value);
    }
    plugin_string_t line = witlet_lend(message);
    plugin_list_tuple2_string_string_t list = {pairs, count};
    witlet_host_log_write(level, &line, &list);
}

/* ---- Admission: in worlds that export its handler ---- */
#ifdef WITLET_ADMISSION_TYPES_VERDICT_ADMIT

/* Nothing against the pod. */
static inline witlet_admission_types_verdict_t witlet_admit(void)
{
    return (witlet_admission_types_verdict_t){.tag = WITLET_ADMISSION_TYPES_VERDICT_ADMIT};
}

/* Never: `reason` is a CamelCase word, `message` an owned text that the verdict takes over. */
static inline witlet_admission_types_verdict_t witlet_reject(const char *reason, plugin_string_t message)
{
    witlet_admission_types_verdict_t verdict = {.tag = WITLET_ADMISSION_TYPES_VERDICT_REJECT};
    verdict.val.reject.reason = witlet_copy(witlet_view_c(reason));
    verdict.val.reject.message = message;
    return verdict;
}

/* Not now: as `witlet_reject`; the host asks again after this many milliseconds, or earlier if the node changes. */
static inline witlet_admission_types_verdict_t witlet_defer(const char *reason, plugin_string_t message,
                                                            uint64_t retry_after_milliseconds)
{
    witlet_admission_types_verdict_t verdict = {.tag = WITLET_ADMISSION_TYPES_VERDICT_DEFER};
    verdict.val.defer.reason = witlet_copy(witlet_view_c(reason));
    verdict.val.defer.message = message;
    verdict.val.defer.retry_after_milliseconds = retry_after_milliseconds;
    return verdict;
}

#endif

/* ---- Probes: in worlds that export a probe type ---- */
#ifdef WITLET_PROBE_TYPES_OUTCOME_SUCCESS

/* The three outcomes. `detail` is an owned text that the outcome takes over. */
static inline witlet_probe_types_outcome_t witlet_success(plugin_string_t detail)
{
    witlet_probe_types_outcome_t outcome = {.tag = WITLET_PROBE_TYPES_OUTCOME_SUCCESS};
    outcome.val.success = detail;
    return outcome;
}

static inline witlet_probe_types_outcome_t witlet_warning(plugin_string_t detail)
{
    witlet_probe_types_outcome_t outcome = {.tag = WITLET_PROBE_TYPES_OUTCOME_WARNING};
    outcome.val.warning = detail;
    return outcome;
}

static inline witlet_probe_types_outcome_t witlet_failure(plugin_string_t detail)
{
    witlet_probe_types_outcome_t outcome = {.tag = WITLET_PROBE_TYPES_OUTCOME_FAILURE};
    outcome.val.failure = detail;
    return outcome;
}

#endif

/* ---- Pod sources: in worlds that export one ---- */
#ifdef WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED

/* A source's error: `reason` is a CamelCase word (`Unavailable`, `Denied`, `Invalid`), `message` an owned text that the error
 * takes over. When to ask again is left to the host. */
static inline witlet_pod_source_types_source_error_t witlet_source_error(const char *reason, plugin_string_t message)
{
    return (witlet_pod_source_types_source_error_t){
        .reason = witlet_copy(witlet_view_c(reason)),
        .message = message,
        .retry_after_milliseconds = {.is_some = false},
    };
}

/* A cursor for a source: FNV-1a over bytes, begun with WITLET_HASH_START and fed with all that the source has. */
#define WITLET_HASH_START 0xcbf29ce484222325u

static inline uint64_t witlet_hash(uint64_t hash, witlet_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        hash ^= (uint8_t)text.ptr[i];
        hash *= 0x100000001b3u;
    }
    return hash;
}

#endif

#endif
