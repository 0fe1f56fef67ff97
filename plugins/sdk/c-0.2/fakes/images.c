#include "images.h"

#define REFERENCE_MAX 4096
#define NAME_MAX_BYTES 255
#define TAG_MAX 128

static const struct {
    const char *algorithm;
    size_t digits;
} algorithms[] = {{"sha256:", 64}, {"sha384:", 96}, {"sha512:", 128}};

static bool is_small(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alphanumeric(char c) { return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

static witlet_text slice(witlet_text text, size_t from, size_t to)
{
    return (witlet_text){text.ptr + from, to - from};
}

/* Where a letter stands first; the length where it doesn't. */
static size_t find(witlet_text text, char letter)
{
    const char *at = text.len > 0 ? memchr(text.ptr, letter, text.len) : NULL;
    return at == NULL ? text.len : (size_t)(at - text.ptr);
}

/* A part of a path: small letters and digits, with a dot, one or two underscores, or hyphens between them. */
static bool is_component(witlet_text text)
{
    size_t at = 0;
    while (at < text.len) {
        size_t word = at;
        while (at < text.len && (is_small(text.ptr[at]) || is_digit(text.ptr[at])))
            at++;
        if (at == word)
            return false;
        if (at == text.len)
            return true;
        char between = text.ptr[at];
        size_t count = 0, most = between == '.' ? 1 : between == '_' ? 2 : between == '-' ? text.len : 0;
        while (at < text.len && text.ptr[at] == between && count < most) {
            at++;
            count++;
        }
        if (count == 0)
            return false;
    }
    return false;
}

static bool is_path(witlet_text text)
{
    for (;;) {
        size_t slash = find(text, '/');
        if (!is_component(slice(text, 0, slash)))
            return false;
        if (slash == text.len)
            return true;
        text = slice(text, slash + 1, text.len);
    }
}

/* A host in labels of letters, digits and hyphens, or an address of IPv6 in brackets; then perhaps a port. */
static bool is_registry(witlet_text text)
{
    size_t end = 0;
    if (text.len > 0 && text.ptr[0] == '[') {
        end = find(text, ']');
        for (size_t i = 1; i < end; i++) {
            if (!is_hex((char)(text.ptr[i] | 0x20)) && text.ptr[i] != ':')
                return false;
        }
        if (end == text.len || end == 1)
            return false;
        end++;
    } else {
        end = find(text, ':');
        for (size_t from = 0; from <= end;) {
            size_t dot = from + find(slice(text, from, end), '.');
            if (dot == from || !is_alphanumeric(text.ptr[from]) || !is_alphanumeric(text.ptr[dot - 1]))
                return false;
            for (size_t i = from; i < dot; i++) {
                if (!is_alphanumeric(text.ptr[i]) && text.ptr[i] != '-')
                    return false;
            }
            from = dot + 1;
        }
    }
    if (end == text.len)
        return true;
    for (size_t i = end + 1; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
    }
    return text.ptr[end] == ':' && end + 1 < text.len;
}

static bool is_tag(witlet_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool is_letter = is_alphanumeric(text.ptr[i]) || text.ptr[i] == '_';
        if (!is_letter && (i == 0 || (text.ptr[i] != '.' && text.ptr[i] != '-')))
            return false;
    }
    return text.len > 0 && text.len <= TAG_MAX;
}

static bool is_digest(witlet_text text)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        witlet_text algorithm = witlet_view_c(algorithms[i].algorithm);
        if (!witlet_starts_with(text, algorithm) || text.len != algorithm.len + algorithms[i].digits)
            continue;
        for (size_t at = algorithm.len; at < text.len; at++) {
            if (!is_hex(text.ptr[at]))
                return false;
        }
        return true;
    }
    return false;
}

/* Whether a text is no reference whatever its parts are: a file, an ID of an image, or one with spaces. */
static bool is_other(witlet_text text)
{
    bool is_id = text.len == 64;
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f)
            return true;
        is_id = is_id && is_hex(text.ptr[i]);
    }
    return is_id || text.len > REFERENCE_MAX || witlet_starts_with(text, WITLET_TEXT("file:"));
}

/* The first part is a registry if it can't be a folder: it has a dot, a port or capitals, or is localhost. */
static void split(witlet_text name, struct fake_reference *reference)
{
    size_t slash = find(name, '/');
    witlet_text first = slice(name, 0, slash);
    reference->registry = WITLET_TEXT("docker.io");
    reference->path = name;
    if (slash == name.len)
        return;
    bool is_one = witlet_equal(first, WITLET_TEXT("localhost")) || find(first, '.') < slash || find(first, ':') < slash;
    for (size_t i = 0; i < slash; i++)
        is_one = is_one || (first.ptr[i] >= 'A' && first.ptr[i] <= 'Z');
    if (!is_one)
        return;
    if (!witlet_equal(first, WITLET_TEXT("index.docker.io")))
        reference->registry = first;
    reference->path = slice(name, slash + 1, name.len);
}

struct fake_reference fakes_reference(witlet_text text)
{
    static const struct fake_reference none;
    if (text.len == 0 || is_other(text))
        return none;
    size_t at = find(text, '@'), last = 0;
    witlet_text named = slice(text, 0, at);
    for (size_t i = 0; i < named.len; i++)
        last = named.ptr[i] == '/' ? i + 1 : last;
    size_t colon = last + find(slice(named, last, named.len), ':');
    struct fake_reference reference = {0};
    split(slice(named, 0, colon), &reference);
    reference.is_library =
        witlet_equal(reference.registry, WITLET_TEXT("docker.io")) && find(reference.path, '/') == reference.path.len;
    bool is_one = is_registry(reference.registry) && is_path(reference.path) &&
                  reference.registry.len + 1 + reference.path.len + (reference.is_library ? 8 : 0) <= NAME_MAX_BYTES;
    if (colon < named.len) {
        reference.tag = slice(named, colon + 1, named.len);
        is_one = is_one && is_tag(reference.tag);
    } else if (at == text.len) {
        reference.tag = WITLET_TEXT("latest");
    }
    if (at < text.len) {
        reference.digest = slice(text, at + 1, text.len);
        is_one = is_one && is_digest(reference.digest);
    }
    return is_one ? reference : none;
}

plugin_string_t fakes_repository(const struct fake_reference *reference)
{
    return witlet_format("%s%.*s", reference->is_library ? "library/" : "", WITLET_ARGS(reference->path));
}

plugin_string_t fakes_image_name(const struct fake_reference *reference, witlet_text text)
{
    if (reference->registry.len == 0)
        return witlet_copy(text);
    return witlet_format("%.*s/%s%.*s%s%.*s%s%.*s", WITLET_ARGS(reference->registry), reference->is_library ? "library/" : "",
                         WITLET_ARGS(reference->path), reference->tag.len > 0 ? ":" : "", WITLET_ARGS(reference->tag),
                         reference->digest.len > 0 ? "@" : "", WITLET_ARGS(reference->digest));
}
