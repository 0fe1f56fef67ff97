// The plugin, asked as the host asks it. With the address sanitizer, memory that isn't freed fails the test.
#include "policy.hpp"
#include "testing/admission.hpp"

using namespace witlet;

static void a_good_configuration_is_taken()
{
    CHECK_TEXT(testing::words(testing::validate(R"({"label": "team"})")), "ok");
}

static void a_wrong_configuration_is_refused_with_words()
{
    constexpr std::string_view needed = R"(label: the name of a label is needed, such as {"label": "team"})";
    static constexpr std::pair<std::string_view, std::string_view> cases[] = {
        {"null", needed},
        {R"({"label": ""})", needed},
        {R"({"label": 7})", needed},
        {R"({"label": "team", "lable": 1})", "unknown field \"lable\""},
        {"[]", "the configuration isn't a JSON object"},
        {"{} {}", "the configuration isn't a JSON object"},
        {"", "the configuration isn't a JSON object"},
    };
    for (const auto &[config, words] : cases)
        CHECK_TEXT(testing::words(testing::validate(config)), words);
}

static void a_name_longer_than_any_label_is_refused()
{
    auto config = [](size_t length) { return concat("{\"label\": \"", std::string(length, 'x'), "\"}"); };
    CHECK(testing::validate(config(label_max)));
    CHECK(!testing::validate(config(label_max + 1)));
}

static void a_pod_with_the_label_is_admitted()
{
    testing::host.config = R"({"label": "team"})";
    testing::Request request = {.pod = {.labels = {{"app", "web"}, {"team", "shop"}}}};
    CHECK_TEXT(testing::line(testing::admit(request)), "admit");
}

static void a_pod_without_the_label_is_rejected()
{
    testing::host.config = R"({"label": "team"})";
    testing::host.lines.clear();
    testing::Request request = {.pod = {.labels = {{"teams", "shop"}}}};
    CHECK_TEXT(testing::line(testing::admit(request)), "reject LabelMissing: label \"team\" is missing");
    CHECK(testing::host.lines.size() == 1 && testing::host.lines[0].level == Level::info);
}

int main()
{
    a_good_configuration_is_taken();
    a_wrong_configuration_is_refused_with_words();
    a_name_longer_than_any_label_is_refused();
    a_pod_with_the_label_is_admitted();
    a_pod_without_the_label_is_rejected();
    return testing::end(__FILE__);
}
