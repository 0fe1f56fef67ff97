/* Values of manifests. */
#include "fakes.h"

#include <stdlib.h>

#define NOTHING ((witlet_text){NULL, 0})

witlet_text fakes_json(const char *text)
{
    if (text == NULL)
        return NOTHING;
    witlet_text value = witlet_json(witlet_view_c(text));
    if (value.len == 0)
        fakes_fail("this is no JSON text: %s", text);
    return value;
}

witlet_text fakes_get(witlet_text value, const char *const *path)
{
    for (; *path != NULL; path++)
        value = witlet_json_member(value, *path);
    return value;
}

witlet_text fakes_member(witlet_text object, witlet_text key)
{
    if (!witlet_json_is_object(object))
        return NOTHING;
    for (witlet_json_items items = witlet_json_each(object); witlet_json_next(&items);) {
        plugin_string_t name = witlet_json_string(items.key);
        bool is_it = witlet_equal(witlet_view(name), key);
        plugin_string_free(&name);
        if (is_it)
            return items.value;
    }
    return NOTHING;
}

witlet_text fakes_item(witlet_text array, size_t index)
{
    if (!witlet_json_is_array(array))
        return NOTHING;
    for (witlet_json_items items = witlet_json_each(array); witlet_json_next(&items); index--) {
        if (index == 0)
            return items.value;
    }
    return NOTHING;
}

/* One part of a pointer, with ~1 and ~0 made what they stand for. */
static witlet_text pointed(witlet_text value, witlet_text part)
{
    if (witlet_json_is_array(value)) {
        size_t index = 0;
        for (size_t i = 0; i < part.len; i++) {
            if (part.ptr[i] < '0' || part.ptr[i] > '9' || i == 9)
                return NOTHING;
            index = 10 * index + (size_t)(part.ptr[i] - '0');
        }
        bool is_one = part.len == 1 || (part.len > 1 && part.ptr[0] != '0');
        return is_one ? fakes_item(value, index) : NOTHING;
    }
    char *key = malloc(part.len + 1);
    if (key == NULL)
        abort();
    size_t length = 0;
    for (size_t i = 0; i < part.len; i++) {
        bool is_escape = part.ptr[i] == '~' && i + 1 < part.len && (part.ptr[i + 1] == '0' || part.ptr[i + 1] == '1');
        key[length++] = !is_escape ? part.ptr[i] : part.ptr[++i] == '0' ? '~' : '/';
    }
    value = fakes_member(value, (witlet_text){key, length});
    free(key);
    return value;
}

witlet_text fakes_pointer(witlet_text value, witlet_text path)
{
    if (path.len > 0 && path.ptr[0] != '/')
        return NOTHING;
    while (path.len > 0) {
        witlet_text rest = {path.ptr + 1, path.len - 1};
        const char *slash = rest.len > 0 ? memchr(rest.ptr, '/', rest.len) : NULL;
        witlet_text part = {rest.ptr, slash == NULL ? rest.len : (size_t)(slash - rest.ptr)};
        value = pointed(value, part);
        path = (witlet_text){rest.ptr + part.len, rest.len - part.len};
    }
    return value;
}

bool fakes_flag(witlet_text value)
{
    return witlet_json_is_true(value);
}

bool fakes_number(witlet_text value, int64_t *number)
{
    return witlet_json_integer(value, INT64_MIN, INT64_MAX, number);
}

bool fakes_text(witlet_text value, plugin_string_t *text)
{
    *text = witlet_json_string(value);
    return witlet_json_is_string(value);
}

bool fakes_written(witlet_text value, plugin_string_t *text)
{
    if (value.len > 0)
        *text = witlet_copy(value);
    return value.len > 0;
}

void *fakes_allocate(size_t count, size_t size)
{
    void *memory = count == 0 ? NULL : calloc(count, size);
    if (count > 0 && memory == NULL)
        abort();
    return memory;
}

void fakes_texts(witlet_text array, plugin_list_string_t *list)
{
    if (!witlet_json_is_array(array))
        array = NOTHING;
    *list = (plugin_list_string_t){(plugin_string_t *)fakes_allocate(witlet_json_count(array), sizeof *list->ptr), 0};
    for (witlet_json_items items = witlet_json_each(array); witlet_json_next(&items);)
        list->ptr[list->len++] = witlet_json_string(items.value);
}

static int by_key(const void *a, const void *b)
{
    const plugin_string_t *one = &((const plugin_tuple2_string_string_t *)a)->f0, *other = &((const plugin_tuple2_string_string_t *)b)->f0;
    size_t both = one->len < other->len ? one->len : other->len;
    int order = both > 0 ? memcmp(one->ptr, other->ptr, both) : 0;
    return order != 0 ? order : (one->len > other->len) - (one->len < other->len);
}

static void sort(plugin_list_tuple2_string_string_t *list)
{
    if (list->len > 1)
        qsort(list->ptr, list->len, sizeof *list->ptr, by_key);
}

void fakes_pairs(witlet_text object, plugin_list_tuple2_string_string_t *list)
{
    if (!witlet_json_is_object(object))
        object = NOTHING;
    list->ptr = (plugin_tuple2_string_string_t *)fakes_allocate(witlet_json_count(object), sizeof *list->ptr);
    list->len = 0;
    for (witlet_json_items items = witlet_json_each(object); witlet_json_next(&items);) {
        if (witlet_json_is_string(items.value))
            list->ptr[list->len++] =
                (plugin_tuple2_string_string_t){witlet_json_string(items.key), witlet_json_string(items.value)};
    }
    /* The list's memory is freed by the number of what is in it. */
    if (list->len == 0) {
        free(list->ptr);
        list->ptr = NULL;
    }
    sort(list);
}

void fakes_c_pairs(const char *const *pairs, plugin_list_tuple2_string_string_t *list)
{
    size_t count = 0;
    while (pairs != NULL && pairs[2 * count] != NULL)
        count++;
    list->ptr = (plugin_tuple2_string_string_t *)fakes_allocate(count, sizeof *list->ptr);
    list->len = count;
    for (size_t i = 0; i < count; i++)
        list->ptr[i] = (plugin_tuple2_string_string_t){witlet_copy(witlet_view_c(pairs[2 * i])),
                                                       witlet_copy(witlet_view_c(pairs[2 * i + 1]))};
    sort(list);
}

bool fakes_c_value(const char *const *pairs, witlet_text key, plugin_string_t *value)
{
    for (; pairs != NULL && *pairs != NULL; pairs += 2) {
        if (!witlet_equal(witlet_view_c(*pairs), key))
            continue;
        *value = witlet_copy(witlet_view_c(pairs[1]));
        return true;
    }
    return false;
}

/* What the bindings offer for lists; that of keys and values is in lib/fake.c. */
void plugin_list_string_free(plugin_list_string_t *list)
{
    for (size_t i = 0; i < list->len; i++)
        plugin_string_free(&list->ptr[i]);
    if (list->len > 0)
        free(list->ptr);
}
