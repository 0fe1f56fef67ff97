/* The role probe: what a target has, a command and connections, or the outcome that the parameters name. */
#include "call.h"

#define METHOD(name) witlet_probe_probe_types_method_##name

static void tell_pod(struct tell *tell, const char *key, witlet_probe_probe_types_borrow_pod_t it)
{
    tell_begin(tell, key, '{');
    CALL_TEXT("pod.namespace", METHOD(pod_namespace), it);
    CALL_TEXT("pod.name", METHOD(pod_name), it);
    CALL_TEXT("pod.uid", METHOD(pod_uid), it);
    CALL_TEXT_OF("pod.label", METHOD(pod_label), it, "a");
    CALL_PAIRS("pod.labels", METHOD(pod_labels), it);
    CALL_TEXT_OF("pod.annotation", METHOD(pod_annotation), it, "note");
    CALL_PAIRS("pod.annotations", METHOD(pod_annotations), it);
    CALL_TEXTS("pod.addresses", METHOD(pod_addresses), it);
    CALL_TEXTS("pod.host-addresses", METHOD(pod_host_addresses), it);
    CALL_FLAG("pod.host-network", METHOD(pod_host_network), it);
    plugin_string_t json;
    METHOD(pod_json)(it, &json);
    tell_word(tell, "pod.json", word_of(witlet_json_member(witlet_json(witlet_view(json)), "spec").len > 0));
    plugin_string_free(&json);
    CALL_TEXT_OF("pod.pointer", METHOD(pod_pointer), it, "/metadata/name");
    tell_end(tell, '}');
}

static void tell_ports(struct tell *tell, witlet_probe_probe_types_borrow_container_t container)
{
    witlet_probe_probe_types_list_own_container_port_t ports;
    METHOD(container_ports)(container, &ports);
    tell_begin(tell, "container.ports", '[');
    for (size_t i = 0; i < ports.len; i++) {
        witlet_probe_probe_types_borrow_container_port_t it = witlet_probe_probe_types_borrow_container_port(ports.ptr[i]);
        tell_begin(tell, NULL, '{');
        CALL_TEXT("container-port.name", METHOD(container_port_name), it);
        CALL_NUMBER("container-port.number", METHOD(container_port_number), it);
        CALL_TEXT("container-port.protocol", METHOD(container_port_protocol), it);
        tell_end(tell, '}');
        witlet_probe_probe_types_container_port_drop_own(ports.ptr[i]);
    }
    tell_end(tell, ']');
    witlet_probe_probe_types_list_own_container_port_free(&ports);
}

static void tell_container(struct tell *tell, const char *key, witlet_probe_probe_types_borrow_container_t it)
{
    tell_begin(tell, key, '{');
    CALL_TEXT("container.name", METHOD(container_name), it);
    CALL_TEXT("container.id", METHOD(container_id), it);
    CALL_NUMBER("container.restarts", METHOD(container_restarts), it);
    CALL_TEXT("container.image", METHOD(container_image), it);
    tell_ports(tell, it);
    CALL_NUMBER_OF("container.port", uint16_t, METHOD(container_port), it, "web");
    CALL_TEXT_OF("container.pointer", METHOD(container_pointer), it, "/name");
    tell_end(tell, '}');
}

static void tell_target(struct tell *tell, witlet_probe_probe_types_borrow_target_t it)
{
    tell_begin(tell, NULL, '{');
    CALL_TEXT("target.kind", METHOD(target_kind), it);
    CALL_NUMBER("target.timeout-milliseconds", METHOD(target_timeout_milliseconds), it);
    tell_word(tell, "target.remaining-milliseconds", word_of(METHOD(target_remaining_milliseconds)(it) > 0));
    witlet_probe_probe_types_own_pod_t pod = METHOD(target_pod)(it);
    tell_pod(tell, "target.pod", witlet_probe_probe_types_borrow_pod(pod));
    witlet_probe_probe_types_pod_drop_own(pod);
    witlet_probe_probe_types_own_container_t container = METHOD(target_container)(it);
    tell_container(tell, "target.container", witlet_probe_probe_types_borrow_container(container));
    witlet_probe_probe_types_container_drop_own(container);
    tell_end(tell, '}');
}

static void tell_ended(struct tell *tell, witlet_probe_exec_own_ended_t own)
{
    witlet_probe_exec_borrow_ended_t it = witlet_probe_exec_borrow_ended(own);
    plugin_list_u8_t bytes;
    tell_begin(tell, "exec/run", '{');
    CALL_NUMBER("exec/ended.exit-code", witlet_probe_exec_method_ended_exit_code, it);
    witlet_probe_exec_method_ended_output(it, &bytes);
    tell_bytes(tell, "exec/ended.output", bytes);
    witlet_probe_exec_method_ended_error_output(it, &bytes);
    tell_bytes(tell, "exec/ended.error-output", bytes);
    tell_end(tell, '}');
    witlet_probe_exec_ended_drop_own(own);
}

static void tell_exec(struct tell *tell, witlet_probe_probe_types_borrow_target_t target, witlet_text words)
{
    plugin_string_t command[8];
    plugin_list_string_t list = {command, 0};
    for (witlet_json_items items = witlet_json_each(words); list.len < 8 && witlet_json_next(&items);)
        command[list.len++] = witlet_json_string(items.value);
    witlet_probe_exec_own_ended_t ended;
    witlet_probe_exec_own_error_t error;
    tell_begin(tell, NULL, '{');
    if (witlet_probe_exec_run(target, &list, &ended, &error))
        tell_ended(tell, ended);
    else
        tell_code(tell, "exec/run", error);
    tell_end(tell, '}');
    for (size_t i = 0; i < list.len; i++)
        plugin_string_free(&command[i]);
}

/* A line, what comes back, and then TLS, which the server doesn't speak. */
static void tell_connection(struct tell *tell, witlet_probe_connections_own_connection_t own)
{
    witlet_probe_connections_borrow_connection_t it = witlet_probe_connections_borrow_connection(own);
    witlet_probe_connections_own_error_t error;
    plugin_list_list_u8_t certificates;
    plugin_list_u8_t hello = {(uint8_t *)"hello\n", 6}, read;
    plugin_string_t name = witlet_lend(WITLET_TEXT("web"));
    tell_begin(tell, "connections/open", '{');
    witlet_probe_connections_method_connection_peer_certificates(it, &certificates);
    tell_unsigned(tell, "connections/connection.peer-certificates", certificates.len);
    plugin_list_list_u8_free(&certificates);
    if (witlet_probe_connections_method_connection_write(it, &hello, &error))
        tell_word(tell, "connections/connection.write", "true");
    else
        tell_code(tell, "connections/connection.write", error);
    if (witlet_probe_connections_method_connection_read(it, 64, &read, &error))
        tell_bytes(tell, "connections/connection.read", read);
    else
        tell_code(tell, "connections/connection.read", error);
    if (witlet_probe_connections_method_connection_start_tls(it, &name, &error))
        tell_word(tell, "connections/connection.start-tls", "true");
    else
        tell_code(tell, "connections/connection.start-tls", error);
    if (witlet_probe_connections_method_connection_shutdown(it, &error))
        tell_word(tell, "connections/connection.shutdown", "null");
    else
        tell_code(tell, "connections/connection.shutdown", error);
    tell_end(tell, '}');
    witlet_probe_connections_connection_drop_own(own);
}

static void tell_open(struct tell *tell, witlet_probe_probe_types_borrow_target_t target, witlet_text settings)
{
    plugin_string_t host = member_text(settings, "host");
    uint16_t port = (uint16_t)member_number(settings, "port");
    witlet_probe_connections_own_connection_t connection;
    witlet_probe_connections_own_error_t error;
    tell_begin(tell, NULL, '{');
    if (witlet_probe_connections_open(target, &host, port, &connection, &error))
        tell_connection(tell, connection);
    else
        tell_code(tell, "connections/open", error);
    tell_end(tell, '}');
    plugin_string_free(&host);
}

static void tell_loopback(struct tell *tell, witlet_probe_probe_types_borrow_target_t target, witlet_text settings)
{
    witlet_probe_connections_own_connection_t connection;
    witlet_probe_connections_own_error_t error;
    tell_begin(tell, NULL, '{');
    if (witlet_probe_connections_open_loopback(target, (uint16_t)member_number(settings, "port"), &connection, &error)) {
        witlet_probe_connections_connection_drop_own(connection);
        tell_word(tell, "connections/open-loopback", "true");
    } else {
        tell_code(tell, "connections/open-loopback", error);
    }
    tell_end(tell, '}');
}

bool exports_witlet_probe_prober_validate(exports_witlet_probe_prober_borrow_setup_t setup, plugin_string_t *config,
                                          exports_witlet_probe_prober_own_error_t *err)
{
    plugin_string_t warning = witlet_lend(WITLET_TEXT("of the configuration"));
    METHOD(setup_warn)(setup, &warning);
    return refuse(config, err);
}

bool exports_witlet_probe_prober_check_parameters(exports_witlet_probe_prober_borrow_check_t check, plugin_string_t *parameters,
                                                  exports_witlet_probe_prober_own_error_t *err)
{
    plugin_string_t warning = witlet_lend(WITLET_TEXT("of the parameters"));
    METHOD(check_warn)(check, &warning);
    return refuse(parameters, err);
}

/* A part of what the probe has, as JSON. */
static plugin_string_t reported_part(witlet_text part, witlet_probe_probe_types_borrow_target_t target, witlet_text settings)
{
    struct tell reported = {0}, *tell = &reported;
    if (witlet_json_equal(part, "target"))
        tell_target(tell, target);
    else if (witlet_json_equal(part, "host"))
        tell_host(tell);
    else if (witlet_json_equal(part, "exec"))
        tell_exec(tell, target, witlet_json_member(settings, "command"));
    else if (witlet_json_equal(part, "talk"))
        tell_open(tell, target, settings);
    else if (witlet_json_equal(part, "loopback"))
        tell_loopback(tell, target, settings);
    else
        tell_view(tell, NULL, WITLET_TEXT("there is no such part"));
    return tell_take(tell);
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *parameters,
                                       exports_witlet_probe_prober_borrow_answer_t answer,
                                       exports_witlet_probe_prober_own_error_t *err)
{
    witlet_text settings = witlet_json_settings(witlet_view(*parameters)), part = witlet_json_member(settings, "do");
    bool good = true;
    if (witlet_json_equal(part, "failure")) {
        witlet_failure(answer, WITLET_TEXT("it failed"));
    } else if (witlet_json_equal(part, "unknown")) {
        witlet_unknown(answer, WITLET_TEXT("nothing was found out"));
    } else if (witlet_json_equal(part, "error")) {
        good = own_error(err);
    } else if (witlet_json_equal(part, "remark")) {
        witlet_probe_warn(answer, WITLET_TEXT("it is old"));
        METHOD(answer_latency)(answer, 1500000);
        witlet_probe_annotate(answer, "version", WITLET_TEXT("7"));
        witlet_success(answer, WITLET_TEXT("{\"answer.latency\": true, \"answer.annotate\": true}"));
    } else {
        plugin_string_t message = reported_part(part, target, settings);
        witlet_success(answer, witlet_view(message));
        plugin_string_free(&message);
    }
    plugin_string_free(parameters);
    return good;
}
