/* JSON as views of its text: nothing is allocated but decoded strings.
 *
 * `witlet_json` checks a whole text once; what it gives, and every member and item of that, is a view of one valid value. An empty
 * view stands for a value that isn't there: all functions take one, and each finds nothing in it.
 */
#ifndef JSON_H
#define JSON_H

#include "witlet.h"

/* How deep arrays and objects may be in each other: the stack is small. */
#define WITLET_JSON_DEPTH_MAX 64

/* Reads a text that is one JSON value and nothing else. An empty view if it isn't. */
witlet_text witlet_json(witlet_text text);

/* As `witlet_json` for a configuration or parameters, where `null` stands for `{}`: empty unless it is an object. */
witlet_text witlet_json_settings(witlet_text text);

/* Whether a value is of a kind, by its first character. */
static inline bool witlet_json_is(witlet_text value, char first)
{
    return value.len > 0 && value.ptr[0] == first;
}
static inline bool witlet_json_is_object(witlet_text value) { return witlet_json_is(value, '{'); }
static inline bool witlet_json_is_array(witlet_text value) { return witlet_json_is(value, '['); }
static inline bool witlet_json_is_string(witlet_text value) { return witlet_json_is(value, '"'); }
static inline bool witlet_json_is_true(witlet_text value) { return witlet_json_is(value, 't'); }
static inline bool witlet_json_is_bool(witlet_text value) { return witlet_json_is_true(value) || witlet_json_is(value, 'f'); }
static inline bool witlet_json_is_null(witlet_text value) { return witlet_json_is(value, 'n'); }

/* The items of an array, or the members of an object, in their order:
 *
 *     for (witlet_json_items items = witlet_json_each(list); witlet_json_next(&items);)
 *         use(items.value);
 */
typedef struct {
    /* Of a member: a JSON string. Empty of an item. */
    witlet_text key;
    witlet_text value;
    /* What is still to come. */
    witlet_text rest;
    bool of_object;
} witlet_json_items;

witlet_json_items witlet_json_each(witlet_text value);
bool witlet_json_next(witlet_json_items *items);

/* How many items or members there are. */
size_t witlet_json_count(witlet_text value);

/* The member of an object with this name, the first of several; empty if there is none. */
witlet_text witlet_json_member(witlet_text object, const char *name);

/* The text that a JSON string stands for; empty of anything else. Half a surrogate pair becomes U+FFFD. Owned. */
plugin_string_t witlet_json_string(witlet_text value);

/* Whether a JSON string stands for this text. */
bool witlet_json_equal(witlet_text value, const char *text);

/* Reads a whole number from `min` to `max`, exactly. False if it is anything else, also if it is written with a point or an exponent. */
bool witlet_json_integer(witlet_text value, int64_t min, int64_t max, int64_t *number);

/* Whether an object has only members of these names (ended by NULL). Otherwise `error` says which `what` ("field") it has more. */
bool witlet_json_only(witlet_text object, const char *const *known, const char *what, plugin_string_t *error);

#endif
