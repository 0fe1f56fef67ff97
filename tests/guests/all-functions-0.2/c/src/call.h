/* Calls of getters, each of which adds what it returns to the `tell` that is in scope. */
#ifndef CALL_H
#define CALL_H

#define WITLET_ADMISSION
#define WITLET_PROBE
#define WITLET_POD_SOURCE
#include "contract.h"
#include "tell.h"

/* A key that nothing has. */
#define NONE "none"

static inline const char *word_of(bool truth) { return truth ? "true" : "false"; }

/* What a getter without arguments returns, under the function's name. */
#define CALL_TEXT(key, getter, of)                                                                                     \
    do {                                                                                                               \
        plugin_string_t text_;                                                                                         \
        getter(of, &text_);                                                                                            \
        tell_text(tell, key, text_);                                                                                   \
    } while (0)
#define CALL_PAIRS(key, getter, of)                                                                                    \
    do {                                                                                                               \
        plugin_list_tuple2_string_string_t pairs_;                                                                     \
        getter(of, &pairs_);                                                                                           \
        tell_pairs(tell, key, pairs_);                                                                                 \
    } while (0)
#define CALL_TEXTS(key, getter, of)                                                                                    \
    do {                                                                                                               \
        plugin_list_string_t texts_;                                                                                   \
        getter(of, &texts_);                                                                                           \
        tell_texts(tell, key, texts_);                                                                                 \
    } while (0)
#define CALL_FLAG(key, getter, of) tell_word(tell, key, word_of(getter(of)))
#define CALL_NUMBER(key, getter, of) tell_signed(tell, key, (int64_t)getter(of))
#define CALL_OPTION(key, getter, of)                                                                                   \
    do {                                                                                                               \
        plugin_string_t text_;                                                                                         \
        tell_option(tell, key, getter(of, &text_), &text_);                                                            \
    } while (0)
#define CALL_OPTIONAL_NUMBER(key, type, getter, of)                                                                    \
    do {                                                                                                               \
        type number_;                                                                                                  \
        if (getter(of, &number_))                                                                                      \
            tell_signed(tell, key, (int64_t)number_);                                                                  \
        else                                                                                                           \
            tell_word(tell, key, "null");                                                                              \
    } while (0)
/* What a getter with a text returns of one that there is, and of one that there isn't. */
#define CALL_TEXT_OF(key, getter, of, name)                                                                            \
    do {                                                                                                               \
        tell_begin(tell, key, '[');                                                                                    \
        for (int i_ = 0; i_ < 2; i_++) {                                                                               \
            plugin_string_t text_, asked_ = witlet_lend(witlet_view_c(i_ == 0 ? name : NONE));                         \
            tell_option(tell, NULL, getter(of, &asked_, &text_), &text_);                                              \
        }                                                                                                              \
        tell_end(tell, ']');                                                                                           \
    } while (0)
#define CALL_NUMBER_OF(key, type, getter, of, name)                                                                    \
    do {                                                                                                               \
        tell_begin(tell, key, '[');                                                                                    \
        for (int i_ = 0; i_ < 2; i_++) {                                                                               \
            type number_;                                                                                              \
            plugin_string_t asked_ = witlet_lend(witlet_view_c(i_ == 0 ? name : NONE));                                \
            if (getter(of, &asked_, &number_))                                                                         \
                tell_signed(tell, NULL, (int64_t)number_);                                                             \
            else                                                                                                       \
                tell_word(tell, NULL, "null");                                                                         \
        }                                                                                                              \
        tell_end(tell, ']');                                                                                           \
    } while (0)

/* A text, which is freed, or null. */
static inline void tell_option(struct tell *tell, const char *key, bool is_some, plugin_string_t *text)
{
    if (is_some)
        tell_text(tell, key, *text);
    else
        tell_word(tell, key, "null");
}

/* Bytes that are a text; they are freed. */
static inline void tell_bytes(struct tell *tell, const char *key, plugin_list_u8_t bytes)
{
    tell_view(tell, key, (witlet_text){(const char *)bytes.ptr, bytes.len});
    plugin_list_u8_free(&bytes);
}

/* The code of an error, which is dropped. */
static inline void tell_code(struct tell *tell, const char *key, witlet_host_errors_own_error_t error)
{
    tell_text(tell, key, witlet_error_code(error));
}

/* What plugins of all roles have, as an object. */
void tell_host(struct tell *tell);

/* The same of data next to the configuration. */
void tell_data(struct tell *tell);

/* An error of the plugin's own; always false. */
bool own_error(witlet_host_errors_own_error_t *error);

/* Such an error, as it is read back. */
void tell_own_error(struct tell *tell);

/* False with an error if settings, a text of the bindings that this frees, want to be refused. */
bool refuse(plugin_string_t *settings, witlet_host_errors_own_error_t *error);

#endif
