#include "tell.h"

#include <inttypes.h>

/* cJSON works with strings that end in a NUL. */
static cJSON *to_json(witlet_text text)
{
    char *terminated = malloc(text.len + 1);
    if (terminated == NULL)
        abort();
    if (text.len > 0)
        memcpy(terminated, text.ptr, text.len);
    terminated[text.len] = '\0';
    cJSON *value = cJSON_CreateString(terminated);
    free(terminated);
    return value;
}

void tell_text(cJSON *object, const char *key, plugin_string_t text)
{
    cJSON_AddItemToObject(object, key, to_json(witlet_view(text)));
    plugin_string_free(&text);
}

void tell_json(cJSON *object, const char *key, plugin_string_t text)
{
    cJSON *value = witlet_json(witlet_view(text));
    if (value == NULL)
        cJSON_AddStringToObject(object, key, "this is no JSON");
    else
        cJSON_AddItemToObject(object, key, value);
    plugin_string_free(&text);
}

void tell_signed(cJSON *object, const char *key, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    cJSON_AddRawToObject(object, key, digits);
}

void tell_unsigned(cJSON *object, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    cJSON_AddRawToObject(object, key, digits);
}

void tell_pairs(cJSON *object, const char *key, plugin_list_tuple2_string_string_t pairs)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < pairs.len; i++) {
        cJSON *pair = cJSON_CreateArray();
        cJSON_AddItemToArray(pair, to_json(witlet_view(pairs.ptr[i].f0)));
        cJSON_AddItemToArray(pair, to_json(witlet_view(pairs.ptr[i].f1)));
        cJSON_AddItemToArray(list, pair);
    }
    plugin_list_tuple2_string_string_free(&pairs);
}

void tell_texts(cJSON *object, const char *key, plugin_list_string_t texts)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < texts.len; i++)
        cJSON_AddItemToArray(list, to_json(witlet_view(texts.ptr[i])));
    plugin_list_string_free(&texts);
}

void tell_maybe(cJSON *object, const char *key, bool is_some, plugin_string_t text)
{
    if (is_some)
        tell_text(object, key, text);
    else
        cJSON_AddNullToObject(object, key);
}

plugin_string_t tell_end(cJSON *object)
{
    plugin_string_t text = witlet_json_text(object);
    cJSON_Delete(object);
    return text;
}

cJSON *settings_get(plugin_string_t *error)
{
    plugin_string_t text;
    witlet_host_config_get(&text);
    cJSON *settings = witlet_json(witlet_view(text));
    plugin_string_free(&text);
    if (cJSON_IsObject(settings) || cJSON_IsNull(settings))
        return settings;
    cJSON_Delete(settings);
    witlet_fail(error, "the configuration isn't a JSON object");
    return NULL;
}

bool settings_check(plugin_string_t *text, plugin_string_t *error)
{
    cJSON *settings = witlet_json_settings(witlet_view(*text));
    plugin_string_free(text);
    if (settings == NULL)
        return witlet_fail(error, "that isn't a JSON object");
    const char *refuse = member_text(settings, "refuse");
    if (refuse != NULL)
        witlet_fail(error, "%s", refuse);
    cJSON_Delete(settings);
    return refuse == NULL;
}

const char *member_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

const char *text_of(const cJSON *value)
{
    const char *text = cJSON_GetStringValue(value);
    return text == NULL ? "" : text;
}

uint64_t member_unsigned(const cJSON *object, const char *key)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(number) && number->valuedouble > 0 ? (uint64_t)number->valuedouble : 0;
}
