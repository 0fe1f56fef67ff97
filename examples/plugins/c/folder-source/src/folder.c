#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "json.h"

/* Fills in a fault; always false. */
__attribute__((format(printf, 3, 4))) static bool fail(struct fault *fault, const char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plugin_string_t words = witlet_format_list(format, arguments);
    va_end(arguments);
    /* Names of files can be any bytes. */
    *fault = (struct fault){reason, witlet_copy_lossy(witlet_view(words))};
    plugin_string_free(&words);
    return false;
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path == NULL)
        abort();
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct file *)left)->name, ((const struct file *)right)->name);
}

/* Adds a file without contents. */
static void add(struct folder *folder, const char *name)
{
    struct file *more = realloc(folder->files, (folder->count + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more == NULL || copy == NULL)
        abort();
    folder->files = more;
    folder->files[folder->count++] = (struct file){.name = copy};
}

/* Finds the names, in order. */
static bool list(const char *path, struct folder *folder, struct fault *fault)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return fail(fault, "Unavailable", "folder %s: %s", path, strerror(errno));
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL)
            break;
        if (entry->d_name[0] != '.' && witlet_ends_with(witlet_view_c(entry->d_name), WITLET_TEXT(".json")))
            add(folder, entry->d_name);
    }
    int failed = errno;
    closedir(directory);
    if (failed != 0)
        return fail(fault, "Unavailable", "folder %s: %s", path, strerror(failed));
    if (folder->count > 0)
        qsort(folder->files, folder->count, sizeof *folder->files, by_name);
    return true;
}

/* Reads an open file whole, of which `size` bytes are expected. */
static bool read_contents(FILE *stream, size_t size, const char *path, plugin_string_t *contents, struct fault *fault)
{
    /* One byte more, so that a file which grows meanwhile shows. */
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        abort();
    size_t length = fread(bytes, 1, size + 1, stream);
    if (!ferror(stream) && length == size && length > 0) {
        *contents = (plugin_string_t){bytes, length};
        return true;
    }
    free(bytes);
    if (ferror(stream))
        return fail(fault, "Unavailable", "file %s can't be read", path);
    return length == size || fail(fault, "Unavailable", "file %s changed while it was read", path);
}

/* What became of one file. */
enum reading { READ, NO_FILE, FAULTY };

static enum reading read_file(const char *folder, struct file *file, struct fault *fault)
{
    enum reading reading = FAULTY;
    char *path = join(folder, file->name);
    struct stat facts;
    FILE *stream = NULL;
    if (stat(path, &facts) != 0)
        fail(fault, "Unavailable", "file %s: %s", path, strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        reading = NO_FILE;
    else if (facts.st_size > FILE_MAX_BYTES)
        fail(fault, "Invalid", "file %s is larger than %d bytes", path, FILE_MAX_BYTES);
    else if ((stream = fopen(path, "rb")) == NULL)
        fail(fault, "Unavailable", "file %s: %s", path, strerror(errno));
    else if (read_contents(stream, (size_t)facts.st_size, path, &file->contents, fault))
        reading = READ;
    if (stream != NULL)
        fclose(stream);
    free(path);
    return reading;
}

static void file_free(struct file *file)
{
    free(file->name);
    plugin_string_free(&file->contents);
}

bool folder_read(const char *path, struct folder *folder, struct fault *fault)
{
    *folder = (struct folder){NULL, 0};
    bool good = list(path, folder, fault);
    size_t kept = 0;
    for (size_t i = 0; i < folder->count; i++) {
        enum reading reading = good ? read_file(path, &folder->files[i], fault) : FAULTY;
        if (reading == READ)
            folder->files[kept++] = folder->files[i];
        else
            file_free(&folder->files[i]);
        good = good && reading != FAULTY;
    }
    folder->count = kept;
    if (!good)
        folder_free(folder);
    return good;
}

void folder_free(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        file_free(&folder->files[i]);
    free(folder->files);
    *folder = (struct folder){NULL, 0};
}

/* Hashes a text with its length, so that what follows can't be taken for a part of it. */
static uint64_t hash_whole(uint64_t hash, witlet_text text)
{
    uint64_t length = text.len;
    return witlet_hash(witlet_hash(hash, (witlet_text){(const char *)&length, sizeof length}), text);
}

plugin_string_t folder_cursor(const struct folder *folder)
{
    uint64_t hash = WITLET_HASH_START;
    for (size_t i = 0; i < folder->count; i++) {
        hash = hash_whole(hash, witlet_view_c(folder->files[i].name));
        hash = hash_whole(hash, witlet_view(folder->files[i].contents));
    }
    return witlet_format("%016" PRIx64, hash);
}

static bool check_file(const struct file *file, struct fault *fault)
{
    witlet_text contents = witlet_view(file->contents);
    if (!witlet_is_utf8(contents))
        return fail(fault, "Invalid", "file %s isn't UTF-8", file->name);
    witlet_text manifest = witlet_json(contents);
    if (!witlet_json_is_object(manifest))
        return fail(fault, "Invalid", "file %s is no JSON object", file->name);
    if (!witlet_json_equal(witlet_json_member(manifest, "kind"), "Pod"))
        return fail(fault, "Invalid", "file %s is of no kind Pod", file->name);
    return true;
}

bool folder_check(const struct folder *folder, struct fault *fault)
{
    for (size_t i = 0; i < folder->count; i++) {
        if (!check_file(&folder->files[i], fault))
            return false;
    }
    return true;
}
