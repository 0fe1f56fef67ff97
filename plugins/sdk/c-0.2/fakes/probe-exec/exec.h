/* Commands of unit tests. */
#ifndef FAKES_EXEC_H
#define FAKES_EXEC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What comes of a command in the container. */
struct fake_command {
    /* Its words with a space between them. */
    const char *command;
    int32_t exit_code;
    /* NULL is nothing. */
    const char *output, *error_output;
    /* Why it can't be run, `Failed` or `TimedOut`; NULL if it ends. */
    const char *error;
};

/* The commands that the container knows; ends with one without words. Another one can't be run. */
extern const struct fake_command *fake_commands;

#ifdef __cplusplus
}
#endif

#endif
