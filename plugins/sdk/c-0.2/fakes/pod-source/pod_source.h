/* The host, as unit tests of a pod source see it: polls, and what the source says in one line.
 *
 *     fake_config = "{\"pods\": []}";
 *     CHECK_TEXT(fake_poll(NULL), "empty; cursor 1");
 */
#ifndef FAKES_POD_SOURCE_H
#define FAKES_POD_SOURCE_H

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* News of a pod; what is NULL is empty, and no status. */
struct fake_change {
    const char *kind, *namespace_, *name, *uid, *phase, *reason, *message, *status;
};

/* Has the source check a configuration: "ok", "warn MESSAGE", or "error CODE: MESSAGE". */
const char *fake_validate(const char *config);

/* Polls with a cursor, NULL at the first time: "pod MANIFEST; pod MANIFEST", "empty", "unchanged", "error CODE: MESSAGE"; then "; cursor CURSOR"
 * and "; next poll MILLISECONDS ms", as the source says them. It is there until the next poll. Empty if nothing was said, as which the host
 * takes a bad answer. */
const char *fake_poll(const char *cursor);

/* The cursor that the last poll said, for the next one; NULL if it said none. It is there until then. */
extern const char *fake_cursor;

/* Hands out news, as the world `pod-source-with-feedback` has it received. `count` of them. */
const char *fake_notify(const struct fake_change *news, size_t count);

/* Lets the news of a call be these: what `fake_notify` does first. */
void fakes_news(const struct fake_change *news, size_t count);

#ifdef __cplusplus
}
#endif

#endif
