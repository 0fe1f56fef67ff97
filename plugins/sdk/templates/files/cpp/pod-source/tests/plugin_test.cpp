// The plugin, asked as the host asks it. With the address sanitizer, memory that isn't freed fails the test.
#include "testing/pod_source.hpp"

using namespace witlet;

static void wrong_configurations_are_refused_with_words()
{
    static constexpr std::pair<std::string_view, std::string_view> cases[] = {
        {R"({"pods": []})", "ok"},
        {R"({"pods": [{"kind": "Pod"}]})", "ok"},
        {"null", "pods: a list of manifests is needed, and may be empty"},
        {R"({"pods": {}})", "pods: a list of manifests is needed, and may be empty"},
        {R"({"pods": [{}, "web"]})", "pods[1]: a manifest is an object"},
        {R"({"pods": [], "pod": []})", "unknown field \"pod\""},
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

static void the_snapshot_follows_the_configuration()
{
    std::optional<std::string> cursor;
    testing::host.config = R"({"pods": [{"kind": "Pod"}, {}]})";
    CHECK_TEXT(polled(cursor), R"(pods: {"kind": "Pod"}, {})");
    CHECK_TEXT(polled(cursor), "unchanged");
    testing::host.config = R"({"pods": [{"kind": "Pod"}]})";
    CHECK_TEXT(polled(cursor), R"(pods: {"kind": "Pod"})");
    testing::host.config = R"({"pods": []})";
    CHECK_TEXT(polled(cursor), "empty");
    CHECK_TEXT(polled(cursor), "unchanged");
}

static void a_configuration_that_went_wrong_is_an_error_and_not_empty()
{
    testing::host.config = R"({"pods": 7})";
    CHECK_TEXT(testing::line(testing::poll()), "error Invalid: pods: a list of manifests is needed, and may be empty");
}

int main()
{
    wrong_configurations_are_refused_with_words();
    the_snapshot_follows_the_configuration();
    a_configuration_that_went_wrong_is_an_error_and_not_empty();
    return testing::end(__FILE__);
}
