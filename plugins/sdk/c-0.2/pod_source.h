/* What a pod source of contract 0.2 is given, with short names. What each getter says stands in the book and in wit/. See things.h for
 * WITLET_DROPPED and WITLET_FREED, contract.h for answers and errors.
 */
#ifndef POD_SOURCE_H
#define POD_SOURCE_H

#define WITLET_POD_SOURCE
#define WITLET_TYPES witlet_pod_source_source_types_

#include "contract.h"
#include "things.h"

typedef witlet_host_errors_own_error_t witlet_error_t;
typedef WITLET_TYPE(borrow_answer_t) witlet_answer_t;
typedef WITLET_TYPE(borrow_setup_t) witlet_setup_t;

WITLET_LENT(news)
WITLET_THING(change)

/* The next of them; false after the last one. */
WITLET_GET_OPTION(news, next, witlet_change_t)

WITLET_GET_TEXT(change, kind)
WITLET_GET_TEXT(change, namespace)
WITLET_GET_TEXT(change, name)
WITLET_GET_TEXT(change, uid)
WITLET_GET_TEXT(change, phase)
WITLET_GET_TEXT(change, reason)
WITLET_GET_TEXT(change, message)
WITLET_GET_OPTION(change, status, plugin_string_t)

#endif
