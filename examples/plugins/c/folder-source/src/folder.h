/* A folder's JSON files, read whole. Plain POSIX: the C library turns it into WASI's filesystem. */
#ifndef FOLDER_H
#define FOLDER_H

#include "witlet.h"

/* How large a file may be, in bytes. */
#define FILE_MAX_BYTES (1024 * 1024)

struct file {
    /* Without the folder; ended by a NUL. Owned. */
    char *name;
    /* Owned. */
    plugin_string_t contents;
};

/* Regular files whose names end in `.json` and don't begin with a dot, in the order of their names' bytes. Owned. */
struct folder {
    struct file *files;
    size_t count;
};

/* What is wrong with a folder or a file in it. */
struct fault {
    /* `Unavailable` or `Invalid`; a literal. */
    const char *reason;
    /* Owned. */
    plugin_string_t message;
};

/* Reads a folder. On success it is owned: `folder_free`. Otherwise there is a fault, and nothing else to free. */
bool folder_read(const char *path, struct folder *folder, struct fault *fault);

void folder_free(struct folder *folder);

/* What changes when a name or a file does: an owned text. */
plugin_string_t folder_cursor(const struct folder *folder);

/* Whether each file is a pod, as far as that is checked here: a JSON object in UTF-8 whose `kind` is `Pod`. */
bool folder_check(const struct folder *folder, struct fault *fault);

#endif
