/* What unit tests need: a check that goes on after a failure and says where it was. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int checks_failed;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            checks_failed++;                                                                                           \
        }                                                                                                              \
    } while (0)

/* The same of two texts, and shows both. */
#define CHECK_TEXT(found, expected)                                                                                    \
    do {                                                                                                               \
        const char *found_ = (found), *expected_ = (expected);                                                         \
        if (strcmp(found_, expected_) != 0) {                                                                          \
            fprintf(stderr, "%s:%d: failed: found \"%s\", expected \"%s\"\n", __FILE__, __LINE__, found_, expected_);   \
            checks_failed++;                                                                                           \
        }                                                                                                              \
    } while (0)

/* The last line of a test's `main`. */
#define CHECKS_END()                                                                                                   \
    (checks_failed == 0 ? (printf("%s: all checks hold\n", __FILE__), 0)                                               \
                        : (printf("%s: %d checks failed\n", __FILE__, checks_failed), 1))

#endif
