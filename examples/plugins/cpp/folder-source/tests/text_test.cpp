// The SDK's judgement of bytes from outside (sdk/witlet.hpp, sdk/json.hpp): what is UTF-8, what is JSON, and what is made of what isn't.
#include "json.hpp"
#include "testing/testing.hpp"

using namespace witlet;

// Encodes a code point as UTF-8 would, valid or not.
static std::string encode(uint32_t point)
{
    if (point < 0x80)
        return {static_cast<char>(point)};
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static constexpr unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    std::string bytes(length, '\0');
    for (size_t index = length - 1; index > 0; index--, point >>= 6)
        bytes[index] = static_cast<char>(0x80 | (point & 0x3f));
    bytes[0] = static_cast<char>(lead[length] | point);
    return bytes;
}

static void every_character_is_utf8_and_nothing_else_is()
{
    for (uint32_t point = 0; point <= 0x1fffff; point++) {
        std::string bytes = encode(point);
        bool is_character = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        CHECK(is_utf8(bytes) == is_character);
        // What is cut short is none.
        bytes.pop_back();
        CHECK(bytes.empty() || !is_utf8(bytes));
    }
}

static void what_is_no_character_is_replaced_byte_by_byte()
{
    static constexpr std::pair<std::string_view, std::string_view> cases[] = {
        {"plain", "plain"},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "größe"},
        {"\xff", "\ufffd"},
        {"a\x80z", "a\ufffdz"},
        {"\xc3", "\ufffd"},
        {"\xc0\xaf", "\ufffd\ufffd"},
        {"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"},
        {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
        {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
        {"\xf0\x9f\xa6\x80!", "🦀!"},
        {"", ""},
    };
    for (const auto &[bytes, text] : cases) {
        CHECK_TEXT(lossy(bytes), text);
        CHECK(is_utf8(bytes) == (bytes == text));
    }
}

static void what_goes_to_the_host_is_utf8()
{
    testing::host.lines.clear();
    log(Level::warn, "a\xff", {{"b\xff", "c\xff"}, {"d", ""}});
    CHECK(testing::host.lines.size() == 1 && testing::host.lines[0].level == Level::warn);
    CHECK_TEXT(testing::host.lines[0].message, "a\ufffd");
    CHECK(testing::host.lines[0].fields == (Pairs{{"b\ufffd", "c\ufffd"}, {"d", ""}}));
}

static void json_is_one_value_and_not_too_deep()
{
    for (const char *good : {"{}", " [1]\n", "null", "[1, -0.5e+3, 0]", "{\"a\" : [true,false]}", "[ ]", "{ }", "-0"})
        CHECK(Json::parse(good));
    for (const char *bad : {"", "{} x", "{}{}", "{", "[1,]", "{\"a\"}", "{\"a\":}", "[01]", "[1.]", "[+1]", "-", "nul", "\"\\x\"",
                            "\"a\nb\"", "\"\\u12\"", "\"\\u-123\"", "\"\\", "\"", "\"\xff\""})
        CHECK(!Json::parse(bad));
    auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    std::string deepest = nested(Json::depth_max), too_deep = nested(Json::depth_max + 1), endless = nested(10000);
    CHECK(Json::parse(std::string_view(deepest)));
    CHECK(!Json::parse(std::string_view(too_deep)) && !Json::parse(std::string_view(endless)));
}

static void json_strings_are_decoded()
{
    static constexpr std::pair<const char *, std::string_view> cases[] = {
        {R"("plain")", "plain"},
        {R"("")", ""},
        {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
        {R"("gr\u00f6\u00DFe")", "größe"},
        {R"("\ud83e\udd80!")", "🦀!"},
        {R"("\ud83e")", "\ufffd"},
        {R"("\udd80\ud83e")", "\ufffd\ufffd"},
        {R"("\ud83ex")", "\ufffdx"},
    };
    for (const auto &[text, value] : cases) {
        CHECK(Json::parse(text).string() == value);
        // What is written is read again.
        std::string written = json_quoted(value);
        CHECK(Json::parse(std::string_view(written)).string() == value);
    }
    CHECK(!Json::parse("7").string() && !Json().string());
    CHECK_TEXT(json_quoted("\x01\n\"\xff"), "\"\\u0001\\u000a\\\"\ufffd\"");
}

static void json_numbers_are_whole_and_exact()
{
    CHECK(Json::parse("0").integer() == 0 && Json::parse("-7").integer() == -7);
    CHECK(Json::parse("9223372036854775807").integer() == std::numeric_limits<int64_t>::max());
    CHECK(Json::parse("-9223372036854775808").integer() == std::numeric_limits<int64_t>::min());
    for (const char *bad : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1\"", "null"})
        CHECK(!Json::parse(bad).integer());
    CHECK(Json::parse("3").integer(1, 3) == 3 && !Json::parse("4").integer(1, 3) && !Json::parse("0").integer(1, 3));
}

static void members_are_found_by_their_names()
{
    Json object = Json::parse(R"( {"a": {"b": [1, "]", {}]}, "\u0063" :2, "a": 3} )");
    CHECK(object.members().size() == 3 && object["a"]["b"].items().size() == 3);
    CHECK(object["c"].text() == "2" && object["a"]["b"][1].string() == "]");
    CHECK(!object["b"] && !object["a"]["b"][3] && !object["a"]["b"][-1] && !object["c"]["d"]["e"]);
    CHECK(object["c"].items().empty() && object["c"].members().empty());
    CHECK(Json::parse("true").boolean() == true && Json::parse("false").boolean() == false && !object.boolean());
}

static void what_a_document_has_at_a_path_is_found_by_the_host_of_tests()
{
    using testing::detail::pointed;
    constexpr std::string_view document = R"({"a/b": [1, {"~": "x"}], "": 2})";
    CHECK(pointed(document, "/a~1b/0") == "1" && pointed(document, "/a~1b/1/~0") == R"("x")");
    CHECK(pointed(document, "") == document && pointed(document, "/") == "2");
    for (std::string_view none : {"/a", "/a~1b/2", "/a~1b/x", "a", "/a~1b/0/0"})
        CHECK(!pointed(document, none));
}

int main()
{
    every_character_is_utf8_and_nothing_else_is();
    what_is_no_character_is_replaced_byte_by_byte();
    what_goes_to_the_host_is_utf8();
    json_is_one_value_and_not_too_deep();
    json_strings_are_decoded();
    json_numbers_are_whole_and_exact();
    members_are_found_by_their_names();
    what_a_document_has_at_a_path_is_found_by_the_host_of_tests();
    return testing::end(__FILE__);
}
