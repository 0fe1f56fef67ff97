// The plugin, asked as the host asks it, with manifests in the host's place. With the address sanitizer, memory that isn't freed fails the
// test; a pod that isn't dropped does so in any case.
#include "policy.hpp"
#include "testing/admission.hpp"

using namespace witlet;

static void a_configuration_is_taken_or_refused_with_words()
{
    const std::string error = "error InvalidConfiguration: ";
    const std::string needed = error + R"(label: the name of a label is needed, such as {"label": "team"})";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"label": "team"})", "subscribe add"},
        {"null", needed},
        {R"({"label": ""})", needed},
        {R"({"label": 7})", needed},
        {R"({"label": "team", "lable": 1})", error + "unknown field \"lable\""},
        {"[]", error + "the configuration isn't a JSON object"},
        {"{} {}", error + "the configuration isn't a JSON object"},
        {"", error + "the configuration isn't a JSON object"},
        {concat("{\"label\": \"", std::string(label_max, 'x'), "\"}"), "subscribe add"},
        {concat("{\"label\": \"", std::string(label_max + 1, 'x'), "\"}"), needed},
    };
    for (const auto &[config, said] : cases)
        CHECK_TEXT(testing::validate(config), said);
}

static void a_pod_is_judged_by_its_label()
{
    testing::host.config = R"({"label": "team"})";
    CHECK_TEXT(testing::admit({.pod = R"({"metadata": {"labels": {"app": "web", "team": "shop"}}})"}), "admit");
    CHECK_TEXT(testing::admit({.pod = R"({"metadata": {"labels": {"teams": "shop"}}})"}), R"(reject LabelMissing: label "team" is missing)");
    CHECK_TEXT(testing::admit({.pod = R"({"metadata": {}})"}), R"(reject LabelMissing: label "team" is missing)");
    CHECK_TEXT(testing::admit({.pod = R"({"metadata": {"labels": {"team": ""}}})"}), R"(reject LabelMissing: label "team" is empty)");
}

static void a_pod_that_is_asked_about_is_logged()
{
    testing::host.config = R"({"label": "team"})";
    testing::host.lines.clear();
    testing::admit({.pod = R"({"metadata": {"name": "web"}})"});
    CHECK(testing::host.lines.size() == 1 && testing::host.lines[0].fields == Pairs{{"name", "web"}});
}

int main()
{
    a_configuration_is_taken_or_refused_with_words();
    a_pod_is_judged_by_its_label();
    a_pod_that_is_asked_about_is_logged();
    return testing::end(__FILE__);
}
