/* What unit tests need: a check that goes on after a failure and says where it was. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int checks_failed;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            checks_failed++;                                                                                           \
        }                                                                                                              \
    } while (0)

/* The last line of a test's `main`. */
#define CHECKS_END()                                                                                                   \
    (checks_failed == 0 ? (printf("%s: all checks hold\n", __FILE__), 0)                                               \
                        : (printf("%s: %d checks failed\n", __FILE__, checks_failed), 1))

#endif
