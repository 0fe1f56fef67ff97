/* What the files of these fakes share. */
#ifndef FAKES_ADMISSION_THINGS_H
#define FAKES_ADMISSION_THINGS_H

#include "../fakes.h"
#include "admission.h"

#define T(name) witlet_admission_admission_types_##name

/* The request of the call. */
extern const struct fake_request *fakes_asked;

/* Declares the parameter of a getter, and the thing that it is. */
#define SELF(thing) T(borrow_##thing##_t) self
#define IT(thing) const struct fake_thing *it = fakes_thing(self.__handle, #thing)

/* Getters by what they give; `value` is a value of the manifest. */
#define TEXT(thing, getter, value)                                                                                     \
    void T(method_##thing##_##getter)(SELF(thing), plugin_string_t * ret)                                              \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        fakes_text(value, ret);                                                                                        \
    }
#define FLAG(thing, getter, condition)                                                                                 \
    bool T(method_##thing##_##getter)(SELF(thing))                                                                     \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        return condition;                                                                                              \
    }
#define POINTER(thing)                                                                                                 \
    bool T(method_##thing##_pointer)(SELF(thing), plugin_string_t * path, plugin_string_t * ret)                       \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        return fakes_written(fakes_pointer(it->json, fakes_given(path)), ret);                                         \
    }
/* A list of things, one for each item of an array of the manifest. */
#define LIST(thing, getter, item, array)                                                                               \
    void T(method_##thing##_##getter)(SELF(thing), T(list_own_##item##_t) * ret)                                       \
    {                                                                                                                  \
        IT(thing);                                                                                                     \
        witlet_text of = array;                                                                                        \
        ret->ptr = (T(own_##item##_t) *)fakes_allocate(witlet_json_count(of), sizeof *ret->ptr);                       \
        ret->len = 0;                                                                                                  \
        for (witlet_json_items items = witlet_json_each(of); witlet_json_next(&items);)                                \
            ret->ptr[ret->len++] = (T(own_##item##_t)){fakes_make(#item, items.value, it->of)};                        \
    }
/* What every resource has. */
#define RESOURCE(thing)                                                                                                \
    T(borrow_##thing##_t) T(borrow_##thing)(T(own_##thing##_t) handle)                                                 \
    {                                                                                                                  \
        return (T(borrow_##thing##_t)){handle.__handle};                                                               \
    }                                                                                                                  \
    void T(thing##_drop_own)(T(own_##thing##_t) handle) { fakes_drop(handle.__handle, #thing); }
#define RESOURCES(thing)                                                                                               \
    RESOURCE(thing)                                                                                                    \
    void T(list_own_##thing##_free)(T(list_own_##thing##_t) * list)                                                    \
    {                                                                                                                  \
        if (list->len > 0)                                                                                             \
            free(list->ptr);                                                                                           \
    }

/* `TCP` unless it is another one that Kubernetes knows. */
void fakes_protocol(witlet_text value, plugin_string_t *ret);

/* A port's number; false if it is none. */
bool fakes_port(witlet_text value, uint16_t *port);

/* A container by its list and its place in it; its thing has its pod in `of`, and the place of the list's name in `number`. */
int32_t fakes_container(witlet_text pod, int list, size_t index);

/* How many containers a list of a pod has. */
size_t fakes_container_count(witlet_text pod, int list);

/* How many lists of containers there are. */
#define FAKES_CONTAINER_LISTS 3

/* An image by its reference. */
__attribute__((format(printf, 2, 3))) int32_t fakes_image(witlet_text reference, const char *place, ...);

/* The ports that a pod takes on the host are appended to a list of `count`, which may be NULL: how many there are then. */
size_t fakes_host_ports(witlet_text pod, T(own_host_port_t) * ports, size_t count);

#endif
