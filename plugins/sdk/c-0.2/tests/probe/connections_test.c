/* The fakes of what the world of a probe type may import besides. It runs in a project of one: `tests/languages` puts it there. */
#include "probe.h"

#include "check.h"
#include "fakes/fakes.h"
#include "fakes/probe-connections/connections.h"
#include "fakes/probe-exec/exec.h"

static plugin_string_t t(const char *text)
{
    return witlet_lend(witlet_view_c(text));
}

static void check_code(witlet_error_t error, const char *expected)
{
    WITLET_FREED code = witlet_error_code(error);
    CHECK(witlet_equal(witlet_view(code), witlet_view_c(expected)));
}

static void a_connection_says_what_the_test_has_it_say(void)
{
    witlet_error_t error;
    witlet_probe_connections_own_connection_t own;
    plugin_string_t host = t("10.0.0.7"), name = t("db.example.com");
    plugin_list_u8_t bytes = {(uint8_t *)"PING", 4}, read;
    fake_sends = (const char *const[]){"!Refused", "+PO", "NG", "!Reset", NULL};
    CHECK(!witlet_probe_connections_open((witlet_target_t){1}, &host, 6379, &own, &error));
    check_code(error, "Refused");
    CHECK(witlet_probe_connections_open((witlet_target_t){1}, &host, 6379, &own, &error));
    CHECK(strcmp(fake_host, "10.0.0.7") == 0 && fake_opened_port == 6379);
    witlet_probe_connections_borrow_connection_t it = witlet_probe_connections_borrow_connection(own);
    CHECK(witlet_probe_connections_method_connection_start_tls(it, &name, &error));
    CHECK_TEXT(fake_server_name, "db.example.com");
    CHECK(witlet_probe_connections_method_connection_write(it, &bytes, &error));
    CHECK_TEXT(fake_written, "PING");
    static const char *const parts[] = {"+P", "O", "NG"};
    for (size_t i = 0; i < 3; i++) {
        CHECK(witlet_probe_connections_method_connection_read(it, 2, &read, &error));
        CHECK(read.len == strlen(parts[i]) && memcmp(read.ptr, parts[i], read.len) == 0);
        plugin_list_u8_free(&read);
    }
    CHECK(!witlet_probe_connections_method_connection_read(it, 2, &read, &error));
    check_code(error, "Reset");
    CHECK(witlet_probe_connections_method_connection_read(it, 2, &read, &error) && read.len == 0);
    CHECK(witlet_probe_connections_method_connection_shutdown(it, &error) && fake_is_shut_down);
    witlet_probe_connections_connection_drop_own(own);
    CHECK(witlet_probe_connections_open_loopback((witlet_target_t){1}, 80, &own, &error) && fake_host == NULL);
    witlet_probe_connections_connection_drop_own(own);
}

static void a_command_ends_as_the_test_says(void)
{
    static const struct fake_command known[] = {
        {.command = "cat /etc/name", .exit_code = 3, .output = "web"}, {.command = "sleep", .error = "TimedOut"}, {0}};
    plugin_string_t words[] = {t("cat"), t("/etc/name")}, sleep = t("sleep");
    plugin_list_string_t command = {words, 2};
    witlet_probe_exec_own_ended_t own;
    witlet_error_t error;
    plugin_list_u8_t output;
    fake_commands = known;
    CHECK(witlet_probe_exec_run((witlet_target_t){1}, &command, &own, &error));
    witlet_probe_exec_borrow_ended_t ended = witlet_probe_exec_borrow_ended(own);
    CHECK(witlet_probe_exec_method_ended_exit_code(ended) == 3);
    witlet_probe_exec_method_ended_output(ended, &output);
    CHECK(output.len == 3 && memcmp(output.ptr, "web", 3) == 0);
    plugin_list_u8_free(&output);
    witlet_probe_exec_method_ended_error_output(ended, &output);
    CHECK(output.len == 0);
    witlet_probe_exec_ended_drop_own(own);
    command = (plugin_list_string_t){&sleep, 1};
    CHECK(!witlet_probe_exec_run((witlet_target_t){1}, &command, &own, &error));
    check_code(error, "TimedOut");
    command = (plugin_list_string_t){words, 1};
    CHECK(!witlet_probe_exec_run((witlet_target_t){1}, &command, &own, &error));
    check_code(error, "Failed");
}

int main(void)
{
    fakes_begin();
    a_connection_says_what_the_test_has_it_say();
    a_command_ends_as_the_test_says();
    CHECK_TEXT(fakes_end(true, (witlet_error_t){0}), "");
    return CHECKS_END();
}
