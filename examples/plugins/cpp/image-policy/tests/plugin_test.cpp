// The plugin, asked as the host asks it. With the address sanitizer, memory that isn't freed fails the test.
#include "testing/admission.hpp"

using namespace witlet;

static void wrong_configurations_are_refused_with_words()
{
    constexpr std::string_view list = "allow: a list of at least one registry, or registry and path, is needed";
    auto place = [](int index) {
        return concat("allow[", index, "]: a registry, or registry and path, without a slash at its ends is needed");
    };
    const std::pair<std::string_view, std::string> cases[] = {
        {R"({"allow": ["docker.io/library", "localhost:5000"], "requireDigest": true})", "ok"},
        {"null", std::string(list)},
        {R"({"allow": []})", std::string(list)},
        {R"({"allow": "docker.io"})", std::string(list)},
        {R"({"allow": ["docker.io", ""]})", place(1)},
        {R"({"allow": ["docker.io/"]})", place(0)},
        {R"({"allow": ["/docker.io"]})", place(0)},
        {R"({"allow": [7]})", place(0)},
        {R"({"allow": ["docker.io"], "requireDigest": 1})", "requireDigest: true or false is needed"},
        {R"({"allow": ["docker.io"], "requireDigests": true})", "unknown field \"requireDigests\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (const auto &[config, words] : cases)
        CHECK_TEXT(testing::words(testing::validate(config)), words);
}

// The verdict on a pod with containers of these names and images.
static std::string verdict(const Pairs &containers, admission::Operation operation = admission::Operation::add)
{
    testing::Request request = {.operation = operation};
    for (const auto &[name, image] : containers)
        request.pod.containers.push_back({name, admission::ContainerKind::app, image});
    return testing::line(testing::admit(request));
}

static void images_come_from_allowed_places()
{
    testing::host.config = R"({"allow": ["registry.example.com/shop", "docker.io/library"]})";
    CHECK_TEXT(verdict({{"app", "nginx"}}), "admit");
    CHECK_TEXT(verdict({{"app", "registry.example.com/shop"}}), "admit");
    CHECK_TEXT(verdict({{"app", "registry.example.com/shop/web:1"}}), "admit");
    CHECK_TEXT(verdict({{"app", "registry.example.com/shopping/web"}}),
               "reject ImageNotAllowed: container \"app\": registry.example.com/shopping/web isn't allowed");
    CHECK_TEXT(verdict({{"app", ""}}), "reject ImageNotAllowed: container \"app\": no image is named");
    CHECK_TEXT(verdict({{"app", "nginx"}, {"helper", "a.example.com/b"}, {"other", "c.example.com/d"}}),
               "reject ImageNotAllowed: container \"helper\": a.example.com/b isn't allowed");
}

static void images_are_pinned_where_that_is_asked_for()
{
    testing::host.config = R"({"allow": ["docker.io"], "requireDigest": true})";
    CHECK_TEXT(verdict({{"app", "nginx:1@sha256:00ff"}}), "admit");
    CHECK_TEXT(verdict({{"app", "nginx:1"}}),
               "reject ImageNotPinned: container \"app\": docker.io/library/nginx isn't pinned by a digest");
}

static void a_resize_is_not_checked()
{
    CHECK_TEXT(verdict({{"app", "a.example.com/b"}}, admission::Operation::resize), "admit");
}

static void a_configuration_that_went_wrong_is_an_error()
{
    testing::host.config = "{}";
    CHECK(verdict({}).starts_with("error: allow:"));
}

int main()
{
    wrong_configurations_are_refused_with_words();
    images_come_from_allowed_places();
    images_are_pinned_where_that_is_asked_for();
    a_resize_is_not_checked();
    a_configuration_that_went_wrong_is_an_error();
    return testing::end(__FILE__);
}
