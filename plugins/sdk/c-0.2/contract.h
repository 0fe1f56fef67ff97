/* Answers and errors of plugins in C, on top of the bindings of contract 0.2.
 *
 * An answer is said by calls: nothing is returned but whether there was one. What these functions are given is only checked; who owns
 * what else is said in witlet.h, whose helpers for texts and lines of the log are those of every contract.
 *
 *     bool exports_witlet_admission_handler_admit(exports_witlet_admission_handler_borrow_request_t request,
 *                                                 exports_witlet_admission_handler_borrow_answer_t answer,
 *                                                 exports_witlet_admission_handler_own_error_t *error)
 *     {
 *         if (!table_is_there())
 *             return witlet_error(error, "NoTable", "the table can't be read");
 *         witlet_reject(answer, "NotNeeded", "the table doesn't have this pod");
 *         return true;
 *     }
 *
 * WITLET_ADMISSION, WITLET_PROBE and WITLET_POD_SOURCE, defined before the include, say which roles the plugin's world has.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "witlet.h"

/* ---- Errors ---- */

/* Makes an export end with an error: a CamelCase word for programs, and a sentence made as by printf. Always false. The error belongs to
 * the bindings then. */
__attribute__((format(printf, 3, 4))) static inline bool witlet_error(witlet_host_errors_own_error_t *error,
                                                                      const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plugin_string_t message = witlet_format_list(format, arguments), word = witlet_lend(witlet_view_c(code));
    va_end(arguments);
    *error = witlet_host_errors_constructor_error(&word, &message);
    plugin_string_free(&message);
    return false;
}

/* The same of words that are owned, and taken over. */
static inline bool witlet_error_owned(witlet_host_errors_own_error_t *error, const char *code, plugin_string_t words)
{
    plugin_string_t word = witlet_lend(witlet_view_c(code));
    *error = witlet_host_errors_constructor_error(&word, &words);
    plugin_string_free(&words);
    return false;
}

/* When another try makes sense. */
static inline void witlet_error_retry_after(witlet_host_errors_own_error_t error, uint64_t milliseconds)
{
    witlet_host_errors_method_error_set_retry_after_milliseconds(witlet_host_errors_borrow_error(error), milliseconds);
}

/* Says something more. The host keeps 16 keys. */
static inline void witlet_error_detail(witlet_host_errors_own_error_t error, const char *key, witlet_text value)
{
    plugin_string_t name = witlet_lend(witlet_view_c(key)), text = witlet_lend(value);
    witlet_host_errors_method_error_set_detail(witlet_host_errors_borrow_error(error), &name, &text);
}

/* An error that an import returned: its code, owned, and nothing is left of the error. */
static inline plugin_string_t witlet_error_code(witlet_host_errors_own_error_t error)
{
    plugin_string_t code;
    witlet_host_errors_method_error_code(witlet_host_errors_borrow_error(error), &code);
    witlet_host_errors_error_drop_own(error);
    return code;
}

/* The same with its message: `code: message`. */
static inline plugin_string_t witlet_error_words(witlet_host_errors_own_error_t error)
{
    plugin_string_t message;
    witlet_host_errors_method_error_message(witlet_host_errors_borrow_error(error), &message);
    plugin_string_t code = witlet_error_code(error);
    plugin_string_t words =
        witlet_format("%.*s: %.*s", WITLET_ARGS(witlet_view(code)), WITLET_ARGS(witlet_view(message)));
    plugin_string_free(&code);
    plugin_string_free(&message);
    return words;
}

/* ---- The configuration ---- */

/* What stands under `config:` in the plugin's entry, as JSON text; `null` if nothing does. Owned. */
static inline plugin_string_t witlet_config(void)
{
    plugin_string_t config;
    witlet_host_config_get(&config);
    return config;
}

/* ---- Answers of admission handlers ---- */
#ifdef WITLET_ADMISSION

/* Nothing against the pod. */
static inline void witlet_admit(witlet_admission_admission_types_borrow_answer_t answer)
{
    witlet_admission_admission_types_method_answer_admit(answer);
}

/* Never: a CamelCase word, and a sentence for people made as by printf. */
__attribute__((format(printf, 3, 4))) static inline void witlet_reject(witlet_admission_admission_types_borrow_answer_t answer,
                                                                       const char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plugin_string_t message = witlet_format_list(format, arguments), word = witlet_lend(witlet_view_c(reason));
    va_end(arguments);
    witlet_admission_admission_types_method_answer_reject(answer, &word, &message);
    plugin_string_free(&message);
}

/* Not now: as `witlet_reject`; the host asks again after this many milliseconds, or earlier if the node changes. */
__attribute__((format(printf, 4, 5))) static inline void witlet_defer(witlet_admission_admission_types_borrow_answer_t answer,
                                                                      const char *reason, uint64_t milliseconds,
                                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plugin_string_t message = witlet_format_list(format, arguments), word = witlet_lend(witlet_view_c(reason));
    va_end(arguments);
    witlet_admission_admission_types_method_answer_defer(answer, &word, &message, milliseconds);
    plugin_string_free(&message);
}

/* The node lacks this resource. May be said of several. */
static inline void witlet_shortage(witlet_admission_admission_types_borrow_answer_t answer, const char *resource, int64_t requested,
                                   int64_t used, int64_t capacity)
{
    plugin_string_t name = witlet_lend(witlet_view_c(resource));
    witlet_admission_admission_types_method_answer_shortage(answer, &name, requested, used, capacity);
}

/* A sentence for the pod's owner, next to whatever is answered. */
static inline void witlet_warn(witlet_admission_admission_types_borrow_answer_t answer, witlet_text message)
{
    plugin_string_t text = witlet_lend(message);
    witlet_admission_admission_types_method_answer_warn(answer, &text);
}

/* Something for those who check the decision later. */
static inline void witlet_annotate(witlet_admission_admission_types_borrow_answer_t answer, const char *key, witlet_text value)
{
    plugin_string_t name = witlet_lend(witlet_view_c(key)), text = witlet_lend(value);
    witlet_admission_admission_types_method_answer_annotate(answer, &name, &text);
}

/* Has the handler asked when this happens: in its `validate`. */
static inline void witlet_subscribe(witlet_admission_admission_types_borrow_setup_t setup, const char *operation)
{
    plugin_string_t word = witlet_lend(witlet_view_c(operation));
    witlet_admission_admission_types_method_setup_subscribe(setup, &word);
}

#endif

/* ---- Answers of probe types ---- */
#ifdef WITLET_PROBE

/* The three outcomes. The message may be empty if the probe passes. */
static inline void witlet_success(witlet_probe_probe_types_borrow_answer_t answer, witlet_text message)
{
    plugin_string_t text = witlet_lend(message);
    witlet_probe_probe_types_method_answer_success(answer, &text);
}

static inline void witlet_failure(witlet_probe_probe_types_borrow_answer_t answer, witlet_text message)
{
    plugin_string_t text = witlet_lend(message);
    witlet_probe_probe_types_method_answer_failure(answer, &text);
}

static inline void witlet_unknown(witlet_probe_probe_types_borrow_answer_t answer, witlet_text message)
{
    plugin_string_t text = witlet_lend(message);
    witlet_probe_probe_types_method_answer_unknown(answer, &text);
}

/* A sentence for the pod's owner, next to the outcome. */
static inline void witlet_probe_warn(witlet_probe_probe_types_borrow_answer_t answer, witlet_text message)
{
    plugin_string_t text = witlet_lend(message);
    witlet_probe_probe_types_method_answer_warn(answer, &text);
}

/* How long the probed thing took to answer. */
static inline void witlet_latency(witlet_probe_probe_types_borrow_answer_t answer, uint64_t nanoseconds)
{
    witlet_probe_probe_types_method_answer_latency(answer, nanoseconds);
}

/* Something for those who check the call later. */
static inline void witlet_probe_annotate(witlet_probe_probe_types_borrow_answer_t answer, const char *key, witlet_text value)
{
    plugin_string_t name = witlet_lend(witlet_view_c(key)), text = witlet_lend(value);
    witlet_probe_probe_types_method_answer_annotate(answer, &name, &text);
}

#endif

/* ---- Answers of pod sources ---- */
#ifdef WITLET_POD_SOURCE

/* One of the pods that the source has. */
static inline void witlet_pod(witlet_pod_source_source_types_borrow_answer_t answer, witlet_text manifest)
{
    plugin_string_t text = witlet_lend(manifest);
    witlet_pod_source_source_types_method_answer_pod(answer, &text);
}

/* It has none: all that it had end. */
static inline void witlet_empty(witlet_pod_source_source_types_borrow_answer_t answer)
{
    witlet_pod_source_source_types_method_answer_empty(answer);
}

/* The same as at the last poll that gave pods or none. */
static inline void witlet_unchanged(witlet_pod_source_source_types_borrow_answer_t answer)
{
    witlet_pod_source_source_types_method_answer_unchanged(answer);
}

/* When the source wants to be asked again. */
static inline void witlet_next_poll(witlet_pod_source_source_types_borrow_answer_t answer, uint64_t milliseconds)
{
    witlet_pod_source_source_types_method_answer_next_poll_milliseconds(answer, milliseconds);
}

/* Handed to the next poll. */
static inline void witlet_cursor(witlet_pod_source_source_types_borrow_answer_t answer, witlet_text cursor)
{
    plugin_string_t text = witlet_lend(cursor);
    witlet_pod_source_source_types_method_answer_cursor(answer, &text);
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
