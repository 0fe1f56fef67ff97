// The plugin, asked as the host asks it. With the address sanitizer, memory that isn't freed fails the test.
#include "testing/probe.hpp"

using namespace witlet;

static void wrong_settings_are_refused_with_words()
{
    static constexpr std::string_view secret = "passwordSecret: the name of a secret is needed";
    static constexpr std::pair<std::string_view, std::string_view> configs[] = {
        {"null", "ok"},
        {R"({"passwordSecret": "redis-password"})", "ok"},
        {R"({"passwordSecret": ""})", secret},
        {R"({"passwordSecret": 7})", secret},
        {R"({"password": "hunter2"})", "unknown field \"password\""},
        {"[]", "the configuration isn't a JSON object"},
    };
    for (const auto &[config, words] : configs)
        CHECK_TEXT(testing::words(testing::validate(config)), words);

    CHECK_TEXT(testing::words(testing::check_parameters("null")), "ok");
    CHECK_TEXT(testing::words(testing::check_parameters(R"({"port": 65535})")), "ok");
    for (std::string_view port : {"0", "65536", "-1", "1.5", "1e9", "\"redis\"", "null", "[6379]"})
        CHECK_TEXT(testing::words(testing::check_parameters(concat("{\"port\": ", port, "}"))),
                   "port: a whole number from 1 to 65535 is needed");
    CHECK_TEXT(testing::words(testing::check_parameters(R"({"prot": 6379})")), "unknown parameter \"prot\"");
    CHECK_TEXT(testing::words(testing::check_parameters("7")), "the parameters aren't a JSON object");
}

// The outcome of a probe of a server that sends this.
static std::string outcome(std::deque<std::string> sends)
{
    testing::server = {.sends = std::move(sends)};
    return testing::probe({.pod_ips = {"127.0.0.1"}}, R"({"port": 7001})");
}

static void the_outcome_is_what_the_server_says()
{
    testing::host.config = "null";
    CHECK_TEXT(outcome({"+PONG\r\n"}), "success: PONG");
    CHECK_TEXT(testing::server.received, "PING\r\n");
    CHECK(testing::server.address == "127.0.0.1" && testing::server.port == 7001);
    CHECK_TEXT(outcome({"+", "PONG", "\r", "\n"}), "success: PONG");
    CHECK_TEXT(outcome({"-LOADING data\r\n"}), "failure: LOADING data");
    CHECK_TEXT(outcome({"+PO"}), "failure: the server closed the connection before it had answered");
    CHECK_TEXT(outcome({"!connection refused"}), "failure: connection refused");
    CHECK_TEXT(outcome({"+PO", "!no answer in time"}), "failure: no answer in time");
    CHECK_TEXT(outcome({std::string(2000, 'x')}), "failure: the answer is longer than 1024 bytes");
}

static void a_pod_without_an_address_fails()
{
    CHECK_TEXT(testing::probe({.pod_ips = {}}, "null"), "failure: the pod has no address");
}

static void a_password_goes_first()
{
    testing::host.config = R"({"passwordSecret": "redis-password"})";
    testing::host.secrets = {{"redis-password", "s3cret\n"}};
    CHECK_TEXT(outcome({"+OK\r\n", "+PONG\r\n"}), "success: PONG");
    CHECK_TEXT(testing::server.received, "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\nPING\r\n");
    CHECK_TEXT(outcome({"-WRONGPASS no\r\n"}), "failure: WRONGPASS no");
    CHECK(!testing::server.received.contains("PING"));
}

static void a_password_that_is_not_there_is_an_error()
{
    testing::host.config = R"({"passwordSecret": "redis-password"})";
    testing::host.secrets = {{"redis-password", std::nullopt}};
    CHECK_TEXT(outcome({}), "error: secret \"redis-password\" isn't on this node");
    testing::host.config = R"({"passwordSecret": "another"})";
    CHECK_TEXT(outcome({}), "error: secret \"another\" isn't granted");
}

int main()
{
    wrong_settings_are_refused_with_words();
    the_outcome_is_what_the_server_says();
    a_pod_without_an_address_fails();
    a_password_goes_first();
    a_password_that_is_not_there_is_an_error();
    return testing::end(__FILE__);
}
