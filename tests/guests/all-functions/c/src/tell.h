/* What the host gave, as JSON: keys are the contract's names. A value goes into the object or list that was begun last; in a list its
 * key is NULL. */
#ifndef TELL_H
#define TELL_H

#include "json.h"

/* JSON that is being written. Begins as {0}. */
struct tell {
    char *ptr;
    size_t len;
    bool comma;
};

/* Begins an object ('{') or a list ('['), and ends it ('}', ']'). */
void tell_begin(struct tell *tell, const char *key, char bracket);
void tell_end(struct tell *tell, char bracket);

/* Adds a text, after which the caller's text is freed. */
void tell_text(struct tell *tell, const char *key, plugin_string_t text);

/* The same of a text that goes on: a literal, or a part of something. */
void tell_view(struct tell *tell, const char *key, witlet_text text);

/* Adds a text that is JSON as the value that it is, and frees it. */
void tell_json(struct tell *tell, const char *key, plugin_string_t text);

/* Adds `null`, `true` or `false`, or whatever else needs no quotes. */
void tell_word(struct tell *tell, const char *key, const char *word);

/* Adds a whole number, exactly. */
void tell_signed(struct tell *tell, const char *key, int64_t number);
void tell_unsigned(struct tell *tell, const char *key, uint64_t number);

/* Adds pairs of texts as lists of two, and frees them. */
void tell_pairs(struct tell *tell, const char *key, plugin_list_tuple2_string_string_t pairs);

/* Adds texts as a list, and frees them. */
void tell_texts(struct tell *tell, const char *key, plugin_list_string_t texts);

/* Adds a text or null, and frees it. */
void tell_maybe(struct tell *tell, witlet_text key, bool is_some, plugin_string_t text);

/* All that was written. Owned; the writer is empty then. */
plugin_string_t tell_take(struct tell *tell);

/* What `witlet:host/config` has, an object or null, as a view of `text`, which is owned. Empty with an owned `error`, and nothing else
 * to free, if it is anything else. */
witlet_text settings_get(plugin_string_t *text, plugin_string_t *error);

/* Reads settings that may say that they are refused: {"refuse": "words"}. Takes over `text`. */
bool settings_check(plugin_string_t *text, plugin_string_t *error);

/* The text of an object's member. Owned; empty if it has none. */
plugin_string_t member_text(witlet_text object, const char *key);

/* Fails with the words of an object's member, if it has some: returns whether it has. */
bool member_fails(witlet_text object, const char *key, plugin_string_t *error);

/* An object's whole number, or 0. */
int64_t member_number(witlet_text object, const char *key);

#endif
