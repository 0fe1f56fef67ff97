/* Commands and answers, without a server. */
#include "check.h"
#include "fake.h"
#include "redis.h"

static void a_password_is_sent_with_its_length(void)
{
    plugin_string_t command = redis_auth(WITLET_TEXT("s3cret"));
    CHECK(fake_is(command, "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n"));
    plugin_string_free(&command);
    command = redis_auth(WITLET_TEXT("a b\r\nPING"));
    CHECK(fake_is(command, "*2\r\n$4\r\nAUTH\r\n$9\r\na b\r\nPING\r\n"));
    plugin_string_free(&command);
    command = redis_auth(WITLET_TEXT(""));
    CHECK(fake_is(command, "*2\r\n$4\r\nAUTH\r\n$0\r\n\r\n"));
    plugin_string_free(&command);
}

static void only_the_last_line_end_of_a_secret_is_left_out(void)
{
    CHECK(witlet_equal(redis_password(WITLET_TEXT("a")), WITLET_TEXT("a")));
    CHECK(witlet_equal(redis_password(WITLET_TEXT("a\n")), WITLET_TEXT("a")));
    CHECK(witlet_equal(redis_password(WITLET_TEXT("a\r\n")), WITLET_TEXT("a")));
    CHECK(witlet_equal(redis_password(WITLET_TEXT("a\n\n")), WITLET_TEXT("a\n")));
    CHECK(witlet_equal(redis_password(WITLET_TEXT("")), WITLET_TEXT("")));
}

static void a_line_is_whole_with_its_end(void)
{
    witlet_text line;
    CHECK(!redis_line(WITLET_TEXT(""), &line));
    CHECK(!redis_line(WITLET_TEXT("+PONG"), &line));
    CHECK(!redis_line(WITLET_TEXT("+PONG\r"), &line));
    CHECK(!redis_line(WITLET_TEXT("+PONG\n"), &line));
    CHECK(redis_line(WITLET_TEXT("+PONG\r\n"), &line) && witlet_equal(line, WITLET_TEXT("+PONG")));
    CHECK(redis_line(WITLET_TEXT("+PONG\r\n-ERR\r\n"), &line) && witlet_equal(line, WITLET_TEXT("+PONG")));
    CHECK(redis_line(WITLET_TEXT("\r\n"), &line) && line.len == 0);
}

static void another_answer_is_shown(void)
{
    static const struct {
        witlet_text line;
        const char *detail;
    } cases[] = {
        {{"-NOAUTH Authentication required.", 32}, "NOAUTH Authentication required."},
        {{"+OK", 3}, "unexpected answer \"+OK\""},
        {{"-", 1}, ""},
        {{"", 0}, "unexpected answer \"\""},
        {{"\xff+PONG", 6}, "unexpected answer \"\ufffd+PONG\""},
    };
    plugin_string_t detail;
    CHECK(redis_is(WITLET_TEXT("+PONG"), WITLET_TEXT("+PONG"), &detail));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(!redis_is(cases[i].line, WITLET_TEXT("+PONG"), &detail));
        CHECK(fake_is(detail, cases[i].detail));
        plugin_string_free(&detail);
    }
}

int main(void)
{
    a_password_is_sent_with_its_length();
    only_the_last_line_end_of_a_secret_is_left_out();
    a_line_is_whole_with_its_end();
    another_answer_is_shown();
    return CHECKS_END();
}
