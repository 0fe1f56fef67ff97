/* The plugin's exports, called as the host calls them, on a real folder. With the address sanitizer, a text that isn't freed fails
 * the test. */
#include "check.h"
#include "fake.h"
#include "folder.h"

#include <sys/stat.h>
#include <unistd.h>

#define POD(name) "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"" name "\"}}"

static char home[] = "/tmp/folder-source.XXXXXX";
static char config[128];

static char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
    FILE *stream = fopen(path_of(name), "wb");
    if (stream == NULL)
        abort();
    CHECK(fwrite(bytes, 1, length, stream) == length);
    fclose(stream);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void wrong_configurations_are_refused_with_words(void)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"{\"folder\": \"/pods\"}", NULL},
        {"null", "folder: an absolute path is needed"},
        {"{\"folder\": \"pods\"}", "folder: an absolute path is needed"},
        {"{\"folder\": 7}", "folder: an absolute path is needed"},
        {"{\"folder\": \"/pods\", \"recursive\": true}", "unknown field \"recursive\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t text = fake_text(cases[i].config), error;
        bool good = exports_witlet_pod_source_source_validate(&text, &error);
        CHECK(good == (cases[i].words == NULL));
        if (!good) {
            CHECK(fake_is(error, cases[i].words));
            plugin_string_free(&error);
        }
    }
}

/* Polls with a cursor, which is replaced by the new one; checks the kind of snapshot and the pods, in order, ended by NULL. */
static void check_poll(plugin_string_t *cursor, uint8_t tag, const char *const *pods)
{
    plugin_string_t handed = witlet_copy(witlet_view(*cursor));
    exports_witlet_pod_source_source_poll_result_t result;
    exports_witlet_pod_source_source_source_error_t error;
    bool good = exports_witlet_pod_source_source_poll(cursor->len > 0 ? &handed : NULL, &result, &error);
    CHECK(good);
    if (!good)
        abort();
    CHECK(result.snapshot.tag == tag);
    if (result.snapshot.tag == WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS) {
        size_t count = 0;
        for (; pods != NULL && pods[count] != NULL; count++)
            CHECK(count < result.snapshot.val.pods.len && fake_is(result.snapshot.val.pods.ptr[count], pods[count]));
        CHECK(count == result.snapshot.val.pods.len);
        plugin_list_string_free(&result.snapshot.val.pods);
    }
    plugin_string_free(cursor);
    *cursor = result.cursor.val;
}

#define PODS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void the_snapshot_is_what_the_folder_has(void)
{
    plugin_string_t cursor = {NULL, 0};
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY, NULL);
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED, NULL);
    write_text("b.json", POD("b"));
    write_text("a.json", POD("a"));
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS, PODS(POD("a"), POD("b")));
    write_text(".c.json", "half");
    write_text("d.yaml", "half");
    mkdir(path_of("e.json"), 0755);
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_UNCHANGED, NULL);
    write_text("b.json", POD("other"));
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS, PODS(POD("a"), POD("other")));
    rename(path_of("b.json"), strcat(strcpy((char[256]){0}, home), "/c.json"));
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_PODS, PODS(POD("a"), POD("other")));
    unlink(path_of("a.json"));
    unlink(path_of("c.json"));
    check_poll(&cursor, WITLET_POD_SOURCE_TYPES_SNAPSHOT_EMPTY, NULL);
    plugin_string_free(&cursor);
    unlink(path_of(".c.json"));
    unlink(path_of("d.yaml"));
    rmdir(path_of("e.json"));
}

/* Polls, and checks the error. */
static void check_error(const char *reason, const char *words)
{
    exports_witlet_pod_source_source_poll_result_t result;
    exports_witlet_pod_source_source_source_error_t error;
    bool good = exports_witlet_pod_source_source_poll(NULL, &result, &error);
    CHECK(!good);
    if (good)
        abort();
    CHECK(fake_is(error.reason, reason));
    char message[256];
    snprintf(message, sizeof message, "%.*s", WITLET_ARGS(witlet_view(error.message)));
    CHECK(strstr(message, words) != NULL);
    plugin_string_free(&error.reason);
    plugin_string_free(&error.message);
}

static void a_file_that_is_no_pod_is_an_error_that_names_it(void)
{
    static const struct {
        const char *contents, *words;
    } cases[] = {
        {"", "file bad.json is no JSON object"},
        {"{\"kind\": \"Po", "file bad.json is no JSON object"},
        {"[" POD("a") "]", "file bad.json is no JSON object"},
        {POD("a") POD("b"), "file bad.json is no JSON object"},
        {"{\"kind\": \"Service\"}", "file bad.json is of no kind Pod"},
        {"{\"kind\": [\"Pod\"]}", "file bad.json is of no kind Pod"},
        {"{}", "file bad.json is of no kind Pod"},
        {"{\"kind\": \"Pod\", \"a\": \"\xff\"}", "file bad.json isn't UTF-8"},
    };
    write_text("a.json", POD("a"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("bad.json", cases[i].contents);
        check_error("Invalid", cases[i].words);
    }
    char *large = calloc(1, FILE_MAX_BYTES + 1);
    write_file("bad.json", large, FILE_MAX_BYTES + 1);
    free(large);
    check_error("Invalid", "bad.json is larger than 1048576 bytes");
    unlink(path_of("bad.json"));
    unlink(path_of("a.json"));
}

static void what_cannot_be_read_is_an_error_and_never_empty(void)
{
    CHECK(symlink("/nowhere/at/all", path_of("gone.json")) == 0);
    check_error("Unavailable", "gone.json");
    unlink(path_of("gone.json"));
    fake_config = "{\"folder\": \"/nowhere/at/all\"}";
    check_error("Unavailable", "folder /nowhere/at/all");
    fake_config = "{}";
    check_error("Invalid", "folder");
}

int main(void)
{
    if (mkdtemp(home) == NULL)
        abort();
    snprintf(config, sizeof config, "{\"folder\": \"%s\"}", home);
    fake_config = config;
    wrong_configurations_are_refused_with_words();
    the_snapshot_is_what_the_folder_has();
    a_file_that_is_no_pod_is_an_error_that_names_it();
    what_cannot_be_read_is_an_error_and_never_empty();
    CHECK(rmdir(home) == 0);
    return CHECKS_END();
}
