/* How admission.h, probe.h and pod_source.h give short names to what the host hands out: types, getters, and what drops them. One of them
 * is included in a file; a plugin with several roles has a file for each.
 *
 *     WITLET_DROPPED(pod) pod = witlet_request_pod(request);
 *     WITLET_FREED team = {NULL, 0};
 *     if (!witlet_pod_label(pod, WITLET_TEXT("team"), &team))
 *         …
 *
 * A thing and a list of things are dropped, and a text is freed, at the end of the block in which they stand so.
 */
#ifndef THINGS_H
#define THINGS_H

#include "witlet.h"

#define WITLET_PASTE_NOW(a, b) a##b
#define WITLET_PASTE(a, b) WITLET_PASTE_NOW(a, b)
/* A name of the role's bindings. */
#define WITLET_TYPE(name) WITLET_PASTE(WITLET_TYPES, name)

/* A thing of the host's that is dropped at the end of the block: WITLET_DROPPED(pod) pod = …; */
#define WITLET_DROPPED(thing) __attribute__((cleanup(witlet_##thing##_drop))) witlet_##thing##_t

/* An owned text that is freed at the end of the block. It begins as {NULL, 0} unless a call gives it right away. */
#define WITLET_FREED __attribute__((cleanup(plugin_string_free))) plugin_string_t

/* The same of a list of texts, and of keys with values. */
#define WITLET_FREED_TEXTS __attribute__((cleanup(plugin_list_string_free))) plugin_list_string_t
#define WITLET_FREED_PAIRS __attribute__((cleanup(plugin_list_tuple2_string_string_free))) plugin_list_tuple2_string_string_t

/* What an export is given: it needs nothing. */
#define WITLET_LENT(thing)                                                                                             \
    typedef WITLET_TYPE(borrow_##thing##_t) witlet_##thing##_t;                                                        \
    static inline WITLET_TYPE(borrow_##thing##_t) witlet_##thing##_self(witlet_##thing##_t it) { return it; }

/* What a getter gives: it is dropped. */
#define WITLET_THING(thing)                                                                                            \
    typedef WITLET_TYPE(own_##thing##_t) witlet_##thing##_t;                                                           \
    static inline WITLET_TYPE(borrow_##thing##_t) witlet_##thing##_self(witlet_##thing##_t it)                         \
    {                                                                                                                  \
        return WITLET_TYPE(borrow_##thing)(it);                                                                        \
    }                                                                                                                  \
    static inline void witlet_##thing##_drop(witlet_##thing##_t *it)                                                   \
    {                                                                                                                  \
        if (it->__handle != 0)                                                                                         \
            WITLET_TYPE(thing##_drop_own)(*it);                                                                        \
        it->__handle = 0;                                                                                              \
    }

/* A list of them, which is dropped with all that is in it: `ptr` and `len`. */
#define WITLET_LIST(thing)                                                                                             \
    typedef WITLET_TYPE(list_own_##thing##_t) witlet_##thing##_list_t;                                                 \
    static inline void witlet_##thing##_list_drop(witlet_##thing##_list_t *list)                                       \
    {                                                                                                                  \
        for (size_t i = 0; i < list->len; i++)                                                                         \
            witlet_##thing##_drop(&list->ptr[i]);                                                                      \
        WITLET_TYPE(list_own_##thing##_free)(list);                                                                    \
        list->len = 0;                                                                                                 \
    }

/* ---- Getters, by what they give ---- */

/* A text, owned. */
#define WITLET_GET_TEXT(thing, getter)                                                                                 \
    static inline plugin_string_t witlet_##thing##_##getter(witlet_##thing##_t it)                                     \
    {                                                                                                                  \
        plugin_string_t text;                                                                                          \
        WITLET_TYPE(method_##thing##_##getter)(witlet_##thing##_self(it), &text);                                      \
        return text;                                                                                                   \
    }

/* A flag, a number, or a thing. */
#define WITLET_GET(thing, getter, type)                                                                                \
    static inline type witlet_##thing##_##getter(witlet_##thing##_t it)                                                \
    {                                                                                                                  \
        return WITLET_TYPE(method_##thing##_##getter)(witlet_##thing##_self(it));                                      \
    }

/* A list, owned. */
#define WITLET_GET_LIST(thing, getter, type)                                                                           \
    static inline type witlet_##thing##_##getter(witlet_##thing##_t it)                                                \
    {                                                                                                                  \
        type list;                                                                                                     \
        WITLET_TYPE(method_##thing##_##getter)(witlet_##thing##_self(it), &list);                                      \
        return list;                                                                                                   \
    }

/* Something that may be there: false where it isn't, and `value` is what its zeros mean. */
#define WITLET_GET_OPTION(thing, getter, type)                                                                         \
    static inline bool witlet_##thing##_##getter(witlet_##thing##_t it, type *value)                                   \
    {                                                                                                                  \
        *value = (type){0};                                                                                            \
        return WITLET_TYPE(method_##thing##_##getter)(witlet_##thing##_self(it), value);                               \
    }

/* The same for a key, a resource's name, or a path. */
#define WITLET_GET_OF(thing, getter, type)                                                                             \
    static inline bool witlet_##thing##_##getter(witlet_##thing##_t it, witlet_text key, type *value)                  \
    {                                                                                                                  \
        plugin_string_t lent = witlet_lend(key);                                                                       \
        *value = (type){0};                                                                                            \
        return WITLET_TYPE(method_##thing##_##getter)(witlet_##thing##_self(it), &lent, value);                        \
    }

#endif
