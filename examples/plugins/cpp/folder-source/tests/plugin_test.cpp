// The plugin, asked as the host asks it, on a real folder. With the address sanitizer, memory that isn't freed fails the test.
#include "testing/pod_source.hpp"

#include <filesystem>
#include <fstream>

#include "folder.hpp"
#include "json.hpp"

using namespace witlet;

// The folder that the source checks, as long as the test runs.
static std::filesystem::path home;

static std::string pod(std::string_view name)
{
    return concat(R"({"kind": "Pod", "metadata": {"name": ")", name, R"("}})");
}

static void write(std::string_view name, std::string_view contents)
{
    std::ofstream file(home / name, std::ios::binary);
    file << contents;
    CHECK(file.good());
}

static void remove(std::string_view name)
{
    CHECK(std::filesystem::remove(home / name));
}

static void wrong_configurations_are_refused_with_words()
{
    static constexpr std::pair<std::string_view, std::string_view> cases[] = {
        {R"({"folder": "/pods"})", "ok"},
        {"null", "folder: an absolute path is needed"},
        {R"({"folder": "pods"})", "folder: an absolute path is needed"},
        {R"({"folder": 7})", "folder: an absolute path is needed"},
        {R"({"folder": "/pods\u0000"})", "folder: an absolute path is needed"},
        {R"({"folder": "/pods", "recursive": true})", "unknown field \"recursive\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (const auto &[config, words] : cases)
        CHECK_TEXT(testing::words(testing::validate(config)), words);
}

// What a poll finds with the cursor of the one before, which is replaced.
static std::string polled(std::optional<std::string> &cursor)
{
    pod_source::PollResult result = testing::poll(cursor);
    if (result)
        cursor = result->cursor;
    return testing::line(result);
}

static void the_snapshot_is_what_the_folder_has()
{
    std::optional<std::string> cursor;
    CHECK_TEXT(polled(cursor), "empty");
    CHECK_TEXT(polled(cursor), "unchanged");
    write("b.json", pod("b"));
    write("a.json", pod("a"));
    CHECK_TEXT(polled(cursor), concat("pods: ", pod("a"), ", ", pod("b")));
    write(".c.json", "half");
    write("d.yaml", "half");
    std::filesystem::create_directory(home / "e.json");
    CHECK_TEXT(polled(cursor), "unchanged");
    write("b.json", pod("other"));
    CHECK_TEXT(polled(cursor), concat("pods: ", pod("a"), ", ", pod("other")));
    std::filesystem::rename(home / "b.json", home / "c.json");
    CHECK_TEXT(polled(cursor), concat("pods: ", pod("a"), ", ", pod("other")));
    for (std::string_view name : {"a.json", "c.json"})
        remove(name);
    CHECK_TEXT(polled(cursor), "empty");
    for (std::string_view name : {".c.json", "d.yaml", "e.json"})
        remove(name);
}

static void a_file_that_is_no_pod_is_an_error_that_names_it()
{
    const std::pair<std::string, std::string_view> cases[] = {
        {"", "no JSON object"},
        {"{\"kind\": \"Po", "no JSON object"},
        {concat("[", pod("a"), "]"), "no JSON object"},
        {concat(pod("a"), pod("b")), "no JSON object"},
        {"{\"kind\": \"Service\"}", "of no kind Pod"},
        {"{\"kind\": [\"Pod\"]}", "of no kind Pod"},
        {"{}", "of no kind Pod"},
    };
    write("a.json", pod("a"));
    for (const auto &[contents, words] : cases) {
        write("bad.json", contents);
        CHECK_TEXT(testing::line(testing::poll()), concat("error Invalid: file bad.json is ", words));
    }
    write("bad.json", "{\"kind\": \"Pod\", \"a\": \"\xff\"}");
    CHECK_TEXT(testing::line(testing::poll()), "error Invalid: file bad.json isn't UTF-8");
    write("bad.json", std::string(file_max + 1, ' '));
    CHECK_TEXT(testing::line(testing::poll()),
               concat("error Invalid: file ", (home / "bad.json").string(), " is larger than 1048576 bytes"));
    for (std::string_view name : {"a.json", "bad.json"})
        remove(name);
}

static void what_cannot_be_read_is_an_error_and_never_empty()
{
    std::filesystem::create_symlink("/nowhere/at/all", home / "gone.json");
    CHECK(testing::line(testing::poll()).starts_with(concat("error Unavailable: file ", (home / "gone.json").string())));
    remove("gone.json");
    testing::host.config = R"({"folder": "/nowhere/at/all"})";
    CHECK(testing::line(testing::poll()).starts_with("error Unavailable: folder /nowhere/at/all"));
    testing::host.config = "{}";
    CHECK(testing::line(testing::poll()).starts_with("error Invalid: folder"));
}

int main()
{
    std::string made = (std::filesystem::temp_directory_path() / "folder-source.XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr)
        return 1;
    home = made;
    wrong_configurations_are_refused_with_words();
    testing::host.config = concat("{\"folder\": ", json_quoted(made), "}");
    the_snapshot_is_what_the_folder_has();
    a_file_that_is_no_pod_is_an_error_that_names_it();
    what_cannot_be_read_is_an_error_and_never_empty();
    std::filesystem::remove_all(home);
    return testing::end(__FILE__);
}
