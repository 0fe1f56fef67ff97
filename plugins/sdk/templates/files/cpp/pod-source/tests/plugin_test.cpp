// The plugin, asked as the host asks it. With the address sanitizer, memory that isn't freed fails the test.
#include "testing/pod_source.hpp"

using namespace witlet;

static void wrong_configurations_are_refused_with_words()
{
    const std::string error = "error InvalidConfiguration: ";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"pods": []})", "ok"},
        {R"({"pods": [{"kind": "Pod"}]})", "ok"},
        {"null", error + "pods: a list of manifests is needed, and may be empty"},
        {R"({"pods": {}})", error + "pods: a list of manifests is needed, and may be empty"},
        {R"({"pods": [{}, "web"]})", error + "pods[1]: a manifest is an object"},
        {R"({"pods": [], "pod": []})", error + "unknown field \"pod\""},
        {"[]", error + "the configuration isn't a JSON object"},
    };
    for (const auto &[config, said] : cases)
        CHECK_TEXT(testing::validate(config), said);
}

// What a poll says with the cursor of the one before, behind the new cursor.
static std::string polled()
{
    std::string said = testing::poll(testing::cursor());
    CHECK(said.starts_with("cursor "));
    size_t end = said.find("; ");
    return end == std::string::npos ? "" : said.substr(end + 2);
}

static void what_is_reported_follows_the_configuration()
{
    testing::host.config = R"({"pods": [{"kind": "Pod"}, {}]})";
    CHECK_TEXT(polled(), R"(pod {"kind": "Pod"}; pod {})");
    CHECK_TEXT(polled(), "unchanged");
    testing::host.config = R"({"pods": [{"kind": "Pod"}]})";
    CHECK_TEXT(polled(), R"(pod {"kind": "Pod"})");
    testing::host.config = R"({"pods": []})";
    CHECK_TEXT(polled(), "empty");
    CHECK_TEXT(polled(), "unchanged");
}

static void a_configuration_that_went_wrong_is_an_error_and_not_empty()
{
    testing::host.config = R"({"pods": 7})";
    CHECK_TEXT(testing::poll(), "error InvalidConfiguration: pods: a list of manifests is needed, and may be empty");
}

int main()
{
    wrong_configurations_are_refused_with_words();
    what_is_reported_follows_the_configuration();
    a_configuration_that_went_wrong_is_an_error_and_not_empty();
    return testing::end(__FILE__);
}
