/* The library's judgement of bytes from outside (lib/witlet.h): what is UTF-8, and what is made of what isn't. */
#include "check.h"
#include "fake.h"

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
        {"{}", true}, {" [1]\n", true}, {"null", true}, {"", false}, {"{} x", false}, {"{}{}", false}, {"{", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *value = witlet_json(witlet_view_c(cases[i].text));
        CHECK((value != NULL) == cases[i].good);
        cJSON_Delete(value);
    }
    char deep[20000];
    memset(deep, '[', sizeof deep / 2);
    memset(deep + sizeof deep / 2, ']', sizeof deep / 2);
    CHECK(witlet_json((witlet_text){deep, sizeof deep}) == NULL);
}

int main(void)
{
    every_character_is_utf8_and_nothing_else_is();
    what_is_no_character_is_replaced_byte_by_byte();
    json_is_one_value_and_not_too_deep();
    return CHECKS_END();
}
