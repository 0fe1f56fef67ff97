/* What the host gave, as JSON: keys are the contract's names. All functions add to an object or list of cJSON. */
#ifndef TELL_H
#define TELL_H

#include "witlet.h"

/* Adds a text, after which the caller's text is freed. */
void tell_text(cJSON *object, const char *key, plugin_string_t text);

/* Adds a text that is JSON as the value that it is, and frees it. */
void tell_json(cJSON *object, const char *key, plugin_string_t text);

/* Adds a whole number, exactly. */
void tell_signed(cJSON *object, const char *key, int64_t number);
void tell_unsigned(cJSON *object, const char *key, uint64_t number);

/* Adds pairs of texts as lists of two, and frees them. */
void tell_pairs(cJSON *object, const char *key, plugin_list_tuple2_string_string_t pairs);

/* Adds texts as a list, and frees them. */
void tell_texts(cJSON *object, const char *key, plugin_list_string_t texts);

/* Adds a text or null, and frees it. */
void tell_maybe(cJSON *object, const char *key, bool is_some, plugin_string_t text);

/* An object that is handed back as text; the object is gone then. */
plugin_string_t tell_end(cJSON *object);

/* What `witlet:host/config` has: an object or null. NULL with an owned `error` if it is anything else. */
cJSON *settings_get(plugin_string_t *error);

/* Reads settings that may be told to refuse: {"refuse": "words"}. Takes over `text`. */
bool settings_check(plugin_string_t *text, plugin_string_t *error);

/* A member's text; NULL if it has none. A view, as long as the object. */
const char *member_text(const cJSON *object, const char *key);

/* A value's text; empty if it is none. A view, as long as the value. */
const char *text_of(const cJSON *value);

/* A member's whole number, or 0. As all numbers of cJSON it is a double: exact up to 2^53. */
uint64_t member_unsigned(const cJSON *object, const char *key);

#endif
