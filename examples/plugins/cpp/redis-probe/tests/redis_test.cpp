// Commands and answers, without a server.
#include "redis.hpp"
#include "testing/testing.hpp"

using namespace std::literals;

static void a_password_is_sent_with_its_length()
{
    CHECK_TEXT(redis::auth("s3cret"), "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n");
    CHECK_TEXT(redis::auth("a b\r\nPING"), "*2\r\n$4\r\nAUTH\r\n$9\r\na b\r\nPING\r\n");
    CHECK_TEXT(redis::auth(""), "*2\r\n$4\r\nAUTH\r\n$0\r\n\r\n");
}

static void only_the_last_line_end_of_a_secret_is_left_out()
{
    CHECK_TEXT(redis::password("a"), "a");
    CHECK_TEXT(redis::password("a\n"), "a");
    CHECK_TEXT(redis::password("a\r\n"), "a");
    CHECK_TEXT(redis::password("a\n\n"), "a\n");
    CHECK_TEXT(redis::password(""), "");
}

static void a_line_is_whole_with_its_end()
{
    for (std::string_view half : {"", "+PONG", "+PONG\r", "+PONG\n"})
        CHECK(!redis::line(half));
    CHECK(redis::line("+PONG\r\n") == "+PONG"sv);
    CHECK(redis::line("+PONG\r\n-ERR\r\n") == "+PONG"sv);
    CHECK(redis::line("\r\n") == ""sv);
}

static void another_answer_is_shown()
{
    using witlet::testing::words;
    CHECK_TEXT(words(redis::expect("+PONG", "+PONG")), "ok");
    CHECK_TEXT(words(redis::expect("-NOAUTH Authentication required.", "+PONG")), "NOAUTH Authentication required.");
    CHECK_TEXT(words(redis::expect("+OK", "+PONG")), "unexpected answer \"+OK\"");
    CHECK_TEXT(words(redis::expect("-", "+PONG")), "");
    CHECK_TEXT(words(redis::expect("", "+PONG")), "unexpected answer \"\"");
    CHECK_TEXT(words(redis::expect("\xff+PONG", "+PONG")), "unexpected answer \"\ufffd+PONG\"");
}

int main()
{
    a_password_is_sent_with_its_length();
    only_the_last_line_end_of_a_secret_is_left_out();
    a_line_is_whole_with_its_end();
    another_answer_is_shown();
    return witlet::testing::end(__FILE__);
}
