// The plugin, asked as the host asks it, with plain data in the host's place. With the address sanitizer, memory that isn't freed fails the
// test; a pod that isn't dropped does so in any case.
#include "testing/probe.hpp"

using namespace witlet;

static void wrong_parameters_are_refused_with_words()
{
    const std::string error = "error InvalidParameters: ";
    const std::string port = error + "port: a whole number from 1 to 65535 is needed";
    const std::string expect = error + "expect: the text that the server begins with is needed, of 256 bytes at most";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"port": 25, "expect": "220 "})", "ok"},
        {"null", port},
        {R"({"port": 0, "expect": "220 "})", port},
        {R"({"port": 65536, "expect": "220 "})", port},
        {R"({"port": 2.5, "expect": "220 "})", port},
        {R"({"port": "smtp", "expect": "220 "})", port},
        {R"({"port": 25})", expect},
        {R"({"port": 25, "expect": ""})", expect},
        {R"({"port": 25, "expected": "220 "})", error + "unknown parameter \"expected\""},
        {"25", error + "the parameters aren't a JSON object"},
    };
    for (const auto &[parameters, said] : cases)
        CHECK_TEXT(testing::check_parameters(parameters), said);
}

static void a_configuration_has_no_fields()
{
    CHECK_TEXT(testing::validate("null"), "ok");
    CHECK_TEXT(testing::validate(R"({"port": 25})"), "error InvalidConfiguration: unknown field \"port\"");
}

// The outcome of a probe of a server that sends this.
static std::string outcome(std::deque<std::string> sends)
{
    testing::server = {.sends = std::move(sends)};
    return testing::probe({.addresses = {"127.0.0.1"}}, R"({"port": 25, "expect": "220 "})");
}

static void the_outcome_is_what_the_server_says()
{
    CHECK_TEXT(outcome({"220 mail ready"}), "success: 220 mail ready");
    CHECK(testing::server.address == "127.0.0.1" && testing::server.port == 25);
    CHECK_TEXT(outcome({"2", "2", "0 m"}), "success: 220 m");
    CHECK_TEXT(outcome({"554 go away"}), "failure: expected \"220 \", got \"554 go away\"");
    CHECK_TEXT(outcome({"22"}), "failure: expected \"220 \", got \"22\"");
    CHECK_TEXT(outcome({"\xff\xfe\xfd\xfc"}), "failure: expected \"220 \", got \"\ufffd\ufffd\ufffd\ufffd\"");
    CHECK_TEXT(outcome({"!connection refused"}), "failure: connection refused");
    CHECK_TEXT(outcome({"22", "!no answer in time"}), "failure: no answer in time");
}

static void a_pod_without_an_address_is_an_error()
{
    const std::string said = testing::probe({.addresses = {}}, R"({"port": 25, "expect": "220 "})");
    CHECK_TEXT(said, "error NoAddress: the pod has no address");
}

int main()
{
    wrong_parameters_are_refused_with_words();
    a_configuration_has_no_fields();
    the_outcome_is_what_the_server_says();
    a_pod_without_an_address_is_an_error();
    return testing::end(__FILE__);
}
