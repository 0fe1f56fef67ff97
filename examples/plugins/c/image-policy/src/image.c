#include "image.h"

/* The part of a text before its first byte of this kind; all of it if there is none. */
static witlet_text before(witlet_text text, char separator)
{
    const char *found = text.len == 0 ? NULL : memchr(text.ptr, separator, text.len);
    return found == NULL ? text : (witlet_text){text.ptr, (size_t)(found - text.ptr)};
}

static bool has(witlet_text text, char byte)
{
    return before(text, byte).len < text.len;
}

/* Whether the first part of a reference is a registry and not a folder of the default one. */
static bool is_registry(witlet_text part)
{
    if (witlet_equal(part, WITLET_TEXT("localhost")) || has(part, '.') || has(part, ':'))
        return true;
    for (size_t i = 0; i < part.len; i++) {
        if (part.ptr[i] >= 'A' && part.ptr[i] <= 'Z')
            return true;
    }
    return false;
}

/* A reference without its tag, which is behind the last slash. */
static witlet_text without_tag(witlet_text reference)
{
    size_t length = reference.len;
    while (length > 0 && reference.ptr[length - 1] != '/') {
        length--;
        if (reference.ptr[length] == ':')
            return (witlet_text){reference.ptr, length};
    }
    return reference;
}

struct image image_read(witlet_text reference)
{
    witlet_text name = before(reference, '@');
    witlet_text digest = {reference.ptr + name.len, reference.len - name.len};
    witlet_text first = before(name, '/');
    const char *registry = "";
    if (first.len == name.len)
        registry = "docker.io/library/";
    else if (!is_registry(first))
        registry = "docker.io/";
    return (struct image){
        .place = witlet_format("%s%.*s", registry, WITLET_ARGS(without_tag(name))),
        .pinned = witlet_starts_with(digest, WITLET_TEXT("@sha256:")),
    };
}

void image_free(struct image *image)
{
    plugin_string_free(&image->place);
}
