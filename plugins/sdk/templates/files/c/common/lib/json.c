#include "json.h"

/* The scanners take where something begins, and return where it ends; NULL if it isn't there, which each passes on. */

static const char *skip(const char *at, const char *end)
{
    while (at != NULL && at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

static const char *expect(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return at != NULL && (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *digits(const char *at, const char *end)
{
    if (!is_digit(at, end))
        return NULL;
    while (is_digit(at, end))
        at++;
    return at;
}

static const char *number(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    at = at < end && *at == '0' ? at + 1 : digits(at, end);
    if (at != NULL && at < end && *at == '.')
        at = digits(at + 1, end);
    if (at == NULL || at == end || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    return digits(at, end);
}

/* The value of four hexadecimal digits; -1 if they aren't. */
static int32_t hex(const char *at, const char *end)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++, at++) {
        if (at >= end)
            return -1;
        if (is_digit(at, end))
            value = value * 16 + (*at - '0');
        else if ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'f')
            value = value * 16 + ((*at | 0x20) - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static const char *string(const char *at, const char *end)
{
    for (at = expect(at, end, "\""); at != NULL && at < end; at++) {
        if (*at == '"')
            return at + 1;
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        if (++at == end)
            return NULL;
        if (*at == 'u' ? hex(at + 1, end) < 0 : strchr("\"\\/bfnrt", *at) == NULL)
            return NULL;
    }
    return NULL;
}

static const char *value(const char *at, const char *end, int depth);

/* Items with commas between them, up to the bracket that ends them. */
static const char *list(const char *at, const char *end, const char *close, bool of_object, int depth)
{
    if (depth == WITLET_JSON_DEPTH_MAX)
        return NULL;
    at = skip(at, end);
    if (expect(at, end, close) != NULL)
        return expect(at, end, close);
    for (;;) {
        if (of_object)
            at = expect(skip(string(at, end), end), end, ":");
        at = skip(value(skip(at, end), end, depth + 1), end);
        const char *next = expect(at, end, ",");
        if (next == NULL)
            return expect(at, end, close);
        at = skip(next, end);
    }
}

static const char *value(const char *at, const char *end, int depth)
{
    if (at == NULL || at == end)
        return NULL;
    switch (*at) {
    case '{':
        return list(at + 1, end, "}", true, depth);
    case '[':
        return list(at + 1, end, "]", false, depth);
    case '"':
        return string(at, end);
    case 't':
        return expect(at, end, "true");
    case 'f':
        return expect(at, end, "false");
    case 'n':
        return expect(at, end, "null");
    default:
        return number(at, end);
    }
}

witlet_text witlet_json(witlet_text text)
{
    if (text.len == 0)
        return text;
    const char *end = text.ptr + text.len, *first = skip(text.ptr, end), *last = value(first, end, 0);
    if (last == NULL || skip(last, end) != end)
        return (witlet_text){NULL, 0};
    return (witlet_text){first, (size_t)(last - first)};
}

witlet_text witlet_json_settings(witlet_text text)
{
    witlet_text settings = witlet_json(text);
    if (witlet_json_is_null(settings))
        return WITLET_TEXT("{}");
    return witlet_json_is_object(settings) ? settings : (witlet_text){NULL, 0};
}

witlet_json_items witlet_json_each(witlet_text of)
{
    witlet_json_items items = {.of_object = witlet_json_is_object(of)};
    if (items.of_object || witlet_json_is_array(of))
        items.rest = (witlet_text){of.ptr + 1, of.len - 1};
    return items;
}

bool witlet_json_next(witlet_json_items *items)
{
    if (items->rest.len == 0)
        return false;
    const char *end = items->rest.ptr + items->rest.len, *at = skip(items->rest.ptr, end);
    if (*at == '}' || *at == ']')
        return false;
    if (*at == ',')
        at = skip(at + 1, end);
    if (items->of_object) {
        const char *after = string(at, end);
        items->key = (witlet_text){at, (size_t)(after - at)};
        at = skip(expect(skip(after, end), end, ":"), end);
    }
    const char *after = value(at, end, 0);
    items->value = (witlet_text){at, (size_t)(after - at)};
    items->rest = (witlet_text){after, (size_t)(end - after)};
    return true;
}

size_t witlet_json_count(witlet_text of)
{
    size_t count = 0;
    for (witlet_json_items items = witlet_json_each(of); witlet_json_next(&items);)
        count++;
    return count;
}

witlet_text witlet_json_member(witlet_text object, const char *name)
{
    for (witlet_json_items items = witlet_json_each(object); witlet_json_next(&items);) {
        if (items.of_object && witlet_json_equal(items.key, name))
            return items.value;
    }
    return (witlet_text){NULL, 0};
}

/* Writes a code point as UTF-8; how many bytes it has. */
static size_t encode(uint32_t point, uint8_t *bytes)
{
    if (point < 0x80) {
        bytes[0] = (uint8_t)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, point >>= 6)
        bytes[i] = (uint8_t)(0x80 | (point & 0x3f));
    bytes[0] = (uint8_t)(lead[length] | point);
    return length;
}

/* The code point of an escape, which begins behind its backslash and is moved on. */
static uint32_t escape(const char **at, const char *end)
{
    static const char letters[] = "bfnrt", stand_for[] = "\b\f\n\r\t";
    char letter = *(*at)++;
    const char *found = strchr(letters, letter);
    if (letter != 'u')
        return (uint32_t)(found != NULL ? stand_for[found - letters] : letter);
    uint32_t point = (uint32_t)hex(*at, end);
    *at += 4;
    if (point < 0xd800 || point > 0xdfff)
        return point;
    int32_t low = point < 0xdc00 && expect(*at, end, "\\u") != NULL ? hex(*at + 2, end) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return 0xfffd;
    *at += 6;
    return 0x10000 + ((point - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

plugin_string_t witlet_json_string(witlet_text of)
{
    plugin_string_t text = {NULL, 0};
    if (!witlet_json_is_string(of) || of.len == 2)
        return text;
    /* No escape is shorter than what it stands for. */
    text.ptr = malloc(of.len);
    if (text.ptr == NULL)
        abort();
    const char *end = of.ptr + of.len - 1;
    for (const char *at = of.ptr + 1; at < end;) {
        if (*at != '\\') {
            text.ptr[text.len++] = (uint8_t)*at++;
            continue;
        }
        at++;
        text.len += encode(escape(&at, end), text.ptr + text.len);
    }
    return text;
}

bool witlet_json_equal(witlet_text of, const char *text)
{
    if (!witlet_json_is_string(of))
        return false;
    witlet_text plain = {of.ptr + 1, of.len - 2};
    if (memchr(plain.ptr, '\\', plain.len) == NULL)
        return witlet_equal(plain, witlet_view_c(text));
    plugin_string_t decoded = witlet_json_string(of);
    bool equal = witlet_equal(witlet_view(decoded), witlet_view_c(text));
    plugin_string_free(&decoded);
    return equal;
}

bool witlet_json_integer(witlet_text of, int64_t min, int64_t max, int64_t *number)
{
    if (of.len == 0)
        return false;
    bool negative = *of.ptr == '-';
    const char *at = of.ptr + (negative ? 1 : 0), *end = of.ptr + of.len;
    if (digits(at, end) != end)
        return false;
    /* As a negative number, of which there is one more. */
    int64_t sum = 0;
    for (; at < end; at++) {
        int digit = *at - '0';
        if (sum < (INT64_MIN + digit) / 10)
            return false;
        sum = sum * 10 - digit;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *number = negative ? sum : -sum;
    return *number >= min && *number <= max;
}

bool witlet_json_only(witlet_text object, const char *const *known, const char *what, plugin_string_t *error)
{
    for (witlet_json_items items = witlet_json_each(object); witlet_json_next(&items);) {
        const char *const *name = known;
        while (*name != NULL && !witlet_json_equal(items.key, *name))
            name++;
        if (*name != NULL)
            continue;
        plugin_string_t unknown = witlet_json_string(items.key);
        witlet_fail(error, "unknown %s \"%.*s\"", what, WITLET_ARGS(witlet_view(unknown)));
        plugin_string_free(&unknown);
        return false;
    }
    return true;
}
