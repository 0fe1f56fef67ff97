/* The library's judgement of bytes from outside (lib/witlet.h): what is UTF-8, and what is made of what isn't. */
#include "check.h"
#include "fake.h"
#include "json.h"

/* Encodes a code point as UTF-8 would, valid or not. */
static size_t encode(uint32_t point, char *bytes)
{
    if (point < 0x80) {
        bytes[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--, point >>= 6)
        bytes[i] = (char)(0x80 | (point & 0x3f));
    bytes[0] = (char)(lead[length] | point);
    return length;
}

static void every_character_is_utf8_and_nothing_else_is(void)
{
    for (uint32_t point = 0; point <= 0x1fffff; point++) {
        char bytes[4];
        size_t length = encode(point, bytes);
        bool is_character = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        CHECK((witlet_utf8_length((witlet_text){bytes, length}) == length) == is_character);
        /* What is cut short is none. */
        CHECK(witlet_utf8_length((witlet_text){bytes, length - 1}) == 0);
    }
}

static void what_is_no_character_is_replaced_byte_by_byte(void)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        witlet_text bytes = witlet_view_c(cases[i].bytes);
        plugin_string_t text = witlet_copy_lossy(bytes);
        CHECK(fake_is(text, cases[i].text));
        CHECK(witlet_is_utf8(witlet_view(text)));
        CHECK(witlet_is_utf8(bytes) == (strcmp(cases[i].bytes, cases[i].text) == 0));
        plugin_string_free(&text);
    }
}

static void json_is_one_value_and_not_too_deep(void)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"{}", true},      {" [1]\n", true},     {"null", true},    {"[1, -0.5e+3, 0]", true}, {"{\"a\" : [true,false]}", true},
        {"", false},       {"{} x", false},      {"{}{}", false},   {"{", false},              {"[1,]", false},
        {"{\"a\"}", false}, {"[01]", false},      {"[1.]", false},   {"[+1]", false},           {"nul", false},
        {"\"\\x\"", false}, {"\"a\nb\"", false}, {"\"\\u12\"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK((witlet_json(witlet_view_c(cases[i].text)).len > 0) == cases[i].good);
    char deep[20000];
    memset(deep, '[', sizeof deep / 2);
    memset(deep + sizeof deep / 2, ']', sizeof deep / 2);
    CHECK(witlet_json((witlet_text){deep, sizeof deep}).len == 0);
    size_t depth = WITLET_JSON_DEPTH_MAX;
    CHECK(witlet_json((witlet_text){deep + sizeof deep / 2 - depth, 2 * depth}).len > 0);
}

static void json_strings_are_decoded(void)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"\"plain\"", "plain"},
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"gr\\u00f6\\u00DFe\"", "größe"},
        {"\"\\ud83e\\udd80!\"", "🦀!"},
        {"\"\\ud83e\"", "\ufffd"},
        {"\"\\udd80\\ud83e\"", "\ufffd\ufffd"},
        {"\"\\ud83ex\"", "\ufffdx"},
        {"7", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plugin_string_t value = witlet_json_string(witlet_json(witlet_view_c(cases[i].text)));
        CHECK(fake_is(value, cases[i].value));
        CHECK(witlet_is_utf8(witlet_view(value)));
        plugin_string_free(&value);
    }
}

static void json_numbers_are_whole_and_exact(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-7", true, -7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"\"1\"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        CHECK(witlet_json_integer(witlet_json(witlet_view_c(cases[i].text)), INT64_MIN, INT64_MAX, &value) == cases[i].good);
        CHECK(value == cases[i].value);
    }
}

static void members_are_found_by_their_names(void)
{
    witlet_text object = witlet_json(WITLET_TEXT(" {\"a\": {\"b\": [1, \"]\", {}]}, \"\\u0063\" :2, \"a\": 3} "));
    CHECK(witlet_json_count(object) == 3);
    CHECK(witlet_json_count(witlet_json_member(witlet_json_member(object, "a"), "b")) == 3);
    CHECK(witlet_equal(witlet_json_member(object, "c"), WITLET_TEXT("2")));
    CHECK(witlet_json_member(object, "b").len == 0);
    CHECK(witlet_json_count(witlet_json_member(object, "c")) == 0);
}

int main(void)
{
    every_character_is_utf8_and_nothing_else_is();
    what_is_no_character_is_replaced_byte_by_byte();
    json_is_one_value_and_not_too_deep();
    json_strings_are_decoded();
    json_numbers_are_whole_and_exact();
    members_are_found_by_their_names();
    return CHECKS_END();
}
