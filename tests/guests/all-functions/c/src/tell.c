#include "tell.h"

#include <inttypes.h>

static void put(struct tell *tell, witlet_text text)
{
    char *more = realloc(tell->ptr, tell->len + text.len + 1);
    if (more == NULL)
        abort();
    tell->ptr = more;
    if (text.len > 0)
        memcpy(tell->ptr + tell->len, text.ptr, text.len);
    tell->len += text.len;
}

static void quote(struct tell *tell, witlet_text text)
{
    put(tell, WITLET_TEXT("\""));
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        char escaped[8];
        if (byte == '"' || byte == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", byte);
        else if (byte < 0x20)
            snprintf(escaped, sizeof escaped, "\\u%04x", byte);
        else
            snprintf(escaped, sizeof escaped, "%c", byte);
        put(tell, witlet_view_c(escaped));
    }
    put(tell, WITLET_TEXT("\""));
}

/* What stands before a value. */
static void begin(struct tell *tell, const char *key)
{
    if (tell->comma)
        put(tell, WITLET_TEXT(","));
    tell->comma = true;
    if (key != NULL) {
        quote(tell, witlet_view_c(key));
        put(tell, WITLET_TEXT(":"));
    }
}

void tell_begin(struct tell *tell, const char *key, char bracket)
{
    begin(tell, key);
    put(tell, (witlet_text){&bracket, 1});
    tell->comma = false;
}

void tell_end(struct tell *tell, char bracket)
{
    put(tell, (witlet_text){&bracket, 1});
    tell->comma = true;
}

void tell_view(struct tell *tell, const char *key, witlet_text text)
{
    begin(tell, key);
    quote(tell, text);
}

void tell_text(struct tell *tell, const char *key, plugin_string_t text)
{
    tell_view(tell, key, witlet_view(text));
    plugin_string_free(&text);
}

void tell_json(struct tell *tell, const char *key, plugin_string_t text)
{
    witlet_text value = witlet_json(witlet_view(text));
    begin(tell, key);
    put(tell, value.len > 0 ? value : WITLET_TEXT("\"this is no JSON\""));
    plugin_string_free(&text);
}

void tell_word(struct tell *tell, const char *key, const char *word)
{
    begin(tell, key);
    put(tell, witlet_view_c(word));
}

void tell_signed(struct tell *tell, const char *key, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    tell_word(tell, key, digits);
}

void tell_unsigned(struct tell *tell, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    tell_word(tell, key, digits);
}

void tell_pairs(struct tell *tell, const char *key, plugin_list_tuple2_string_string_t pairs)
{
    tell_begin(tell, key, '[');
    for (size_t i = 0; i < pairs.len; i++) {
        tell_begin(tell, NULL, '[');
        tell_view(tell, NULL, witlet_view(pairs.ptr[i].f0));
        tell_view(tell, NULL, witlet_view(pairs.ptr[i].f1));
        tell_end(tell, ']');
    }
    tell_end(tell, ']');
    plugin_list_tuple2_string_string_free(&pairs);
}

void tell_texts(struct tell *tell, const char *key, plugin_list_string_t texts)
{
    tell_begin(tell, key, '[');
    for (size_t i = 0; i < texts.len; i++)
        tell_view(tell, NULL, witlet_view(texts.ptr[i]));
    tell_end(tell, ']');
    plugin_list_string_free(&texts);
}

void tell_maybe(struct tell *tell, witlet_text key, bool is_some, plugin_string_t text)
{
    begin(tell, NULL);
    quote(tell, key);
    put(tell, WITLET_TEXT(":"));
    if (is_some)
        quote(tell, witlet_view(text));
    else
        put(tell, WITLET_TEXT("null"));
    if (is_some)
        plugin_string_free(&text);
}

plugin_string_t tell_take(struct tell *tell)
{
    plugin_string_t text = {(uint8_t *)tell->ptr, tell->len};
    *tell = (struct tell){0};
    return text;
}

witlet_text settings_get(plugin_string_t *text, plugin_string_t *error)
{
    witlet_host_config_get(text);
    witlet_text settings = witlet_json(witlet_view(*text));
    if (witlet_json_is_object(settings) || witlet_json_is_null(settings))
        return settings;
    plugin_string_free(text);
    witlet_fail(error, "the configuration isn't a JSON object");
    return (witlet_text){NULL, 0};
}

bool settings_check(plugin_string_t *text, plugin_string_t *error)
{
    witlet_text settings = witlet_json_settings(witlet_view(*text));
    bool good = settings.len > 0 ? !member_fails(settings, "refuse", error)
                                 : witlet_fail(error, "that isn't a JSON object");
    plugin_string_free(text);
    return good;
}

plugin_string_t member_text(witlet_text object, const char *key)
{
    return witlet_json_string(witlet_json_member(object, key));
}

bool member_fails(witlet_text object, const char *key, plugin_string_t *error)
{
    witlet_text words = witlet_json_member(object, key);
    if (!witlet_json_is_string(words))
        return false;
    *error = witlet_json_string(words);
    return true;
}

int64_t member_number(witlet_text object, const char *key)
{
    int64_t number = 0;
    witlet_json_integer(witlet_json_member(object, key), INT64_MIN, INT64_MAX, &number);
    return number;
}
