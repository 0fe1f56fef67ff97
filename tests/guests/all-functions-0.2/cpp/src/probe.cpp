// The role probe: what a target has, a command and connections, or the outcome that the parameters name.
#include "call.hpp"

namespace witlet {
WITLET_OWNED(witlet_probe_exec, ended)
WITLET_OWNED(witlet_probe_connections, connection)
} // namespace witlet

static void tell_container_port(Tell &tell, witlet_probe_probe_types_borrow_container_port_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("container-port.name", witlet_probe_probe_types_method_container_port_name);
    getters.call("container-port.number", witlet_probe_probe_types_method_container_port_number);
    getters.call("container-port.protocol", witlet_probe_probe_types_method_container_port_protocol);
    tell.end('}');
}

static void tell_pod(Tell &tell, witlet_probe_probe_types_borrow_pod_t it)
{
    Getters getters{tell, it};
    tell.begin("target.pod", '{');
    getters.call("pod.namespace", witlet_probe_probe_types_method_pod_namespace);
    getters.call("pod.name", witlet_probe_probe_types_method_pod_name);
    getters.call("pod.uid", witlet_probe_probe_types_method_pod_uid);
    getters.call("pod.label", witlet_probe_probe_types_method_pod_label, "a");
    getters.call("pod.labels", witlet_probe_probe_types_method_pod_labels);
    getters.call("pod.annotation", witlet_probe_probe_types_method_pod_annotation, "note");
    getters.call("pod.annotations", witlet_probe_probe_types_method_pod_annotations);
    getters.call("pod.addresses", witlet_probe_probe_types_method_pod_addresses);
    getters.call("pod.host-addresses", witlet_probe_probe_types_method_pod_host_addresses);
    getters.call("pod.host-network", witlet_probe_probe_types_method_pod_host_network);
    getters.call("pod.pointer", witlet_probe_probe_types_method_pod_pointer, "/metadata/name");
    tell.word("pod.json", word_of(witlet::get(witlet_probe_probe_types_method_pod_json, it).contains("\"containers\"")));
    tell.end('}');
}

static void tell_container(Tell &tell, witlet_probe_probe_types_borrow_container_t it)
{
    Getters getters{tell, it};
    tell.begin("target.container", '{');
    getters.call("container.name", witlet_probe_probe_types_method_container_name);
    getters.call("container.id", witlet_probe_probe_types_method_container_id);
    getters.call("container.restarts", witlet_probe_probe_types_method_container_restarts);
    getters.call("container.image", witlet_probe_probe_types_method_container_image);
    getters.call("container.port", witlet_probe_probe_types_method_container_port, "web");
    getters.call("container.pointer", witlet_probe_probe_types_method_container_pointer, "/name");
    tell_items(tell, "container.ports", witlet::get_list(witlet_probe_probe_types_method_container_ports, it), [&](auto each) { tell_container_port(tell, each); });
    tell.end('}');
}

static void tell_target(Tell &tell, witlet_probe_probe_types_borrow_target_t it)
{
    Getters getters{tell, it};
    tell.begin("", '{');
    getters.call("target.kind", witlet_probe_probe_types_method_target_kind);
    getters.call("target.timeout-milliseconds", witlet_probe_probe_types_method_target_timeout_milliseconds);
    tell.word("target.remaining-milliseconds", word_of(witlet_probe_probe_types_method_target_remaining_milliseconds(it) > 0));
    tell_pod(tell, witlet::owned(witlet_probe_probe_types_method_target_pod(it)).borrow());
    tell_container(tell, witlet::owned(witlet_probe_probe_types_method_target_container(it)).borrow());
    tell.end('}');
}

// Bytes of a getter, as a text.
template <class Getter, class Handle>
static std::string bytes(Getter getter, Handle handle)
{
    plugin_list_u8_t list;
    getter(handle, &list);
    return witlet::detail::take(list);
}

static void tell_exec(Tell &tell, witlet_probe_probe_types_borrow_target_t target, witlet::Json words)
{
    std::vector<std::string> command;
    for (witlet::Json word : words.items())
        command.push_back(word.string().value_or(""));
    std::vector<plugin_string_t> lent;
    for (std::string &word : command)
        lent.push_back(witlet::detail::lend(word, word));
    plugin_list_string_t list = {lent.data(), lent.size()};
    witlet_probe_exec_own_ended_t ended;
    witlet_probe_exec_own_error_t error;
    tell.begin("", '{');
    if (witlet_probe_exec_run(target, &list, &ended, &error)) {
        witlet::Owned own = witlet::owned(ended);
        tell.begin("exec/run", '{');
        tell.number("exec/ended.exit-code", witlet_probe_exec_method_ended_exit_code(own.borrow()));
        tell.text("exec/ended.output", bytes(witlet_probe_exec_method_ended_output, own.borrow()));
        tell.text("exec/ended.error-output", bytes(witlet_probe_exec_method_ended_error_output, own.borrow()));
        tell.end('}');
    } else {
        tell.text("exec/run", witlet::detail::take_error(error).code);
    }
    tell.end('}');
}

// Null, or the code of an error.
static void tell_done(Tell &tell, std::string_view key, bool good, witlet_probe_connections_own_error_t error, std::string_view word)
{
    good ? tell.word(key, word) : tell.text(key, witlet::detail::take_error(error).code);
}

// A line, what comes back, and then TLS, which the server doesn't speak.
static void tell_connection(Tell &tell, witlet_probe_connections_borrow_connection_t it)
{
    std::string hello = "hello\n";
    plugin_string_t name = witlet::detail::lend("web", hello);
    plugin_list_u8_t sent = {reinterpret_cast<uint8_t *>(hello.data()), hello.size()}, read = {nullptr, 0};
    plugin_list_list_u8_t certificates;
    witlet_probe_connections_own_error_t error = {0};
    tell.begin("connections/open", '{');
    witlet_probe_connections_method_connection_peer_certificates(it, &certificates);
    tell.number("connections/connection.peer-certificates", certificates.len);
    plugin_list_list_u8_free(&certificates);
    bool good = witlet_probe_connections_method_connection_write(it, &sent, &error);
    tell_done(tell, "connections/connection.write", good, error, "true");
    good = witlet_probe_connections_method_connection_read(it, 64, &read, &error);
    if (good)
        tell.text("connections/connection.read", witlet::detail::take(read));
    else
        tell_done(tell, "connections/connection.read", good, error, "null");
    good = witlet_probe_connections_method_connection_start_tls(it, &name, &error);
    tell_done(tell, "connections/connection.start-tls", good, error, "true");
    good = witlet_probe_connections_method_connection_shutdown(it, &error);
    tell_done(tell, "connections/connection.shutdown", good, error, "null");
    tell.end('}');
}

static void tell_open(Tell &tell, witlet_probe_probe_types_borrow_target_t target, witlet::Json settings)
{
    std::string host = member_text(settings, "host");
    plugin_string_t lent = witlet::detail::lend(host, host);
    witlet_probe_connections_own_connection_t connection;
    witlet_probe_connections_own_error_t error;
    tell.begin("", '{');
    if (witlet_probe_connections_open(target, &lent, static_cast<uint16_t>(member_number(settings, "port")), &connection, &error))
        tell_connection(tell, witlet::owned(connection).borrow());
    else
        tell.text("connections/open", witlet::detail::take_error(error).code);
    tell.end('}');
}

static void tell_loopback(Tell &tell, witlet_probe_probe_types_borrow_target_t target, witlet::Json settings)
{
    auto port = static_cast<uint16_t>(member_number(settings, "port"));
    witlet_probe_connections_own_connection_t connection;
    witlet_probe_connections_own_error_t error;
    bool opened = witlet_probe_connections_open_loopback(target, port, &connection, &error);
    if (opened)
        witlet::owned(connection);
    tell.begin("", '{');
    tell_done(tell, "connections/open-loopback", opened, error, "true");
    tell.end('}');
}

static std::string reported_part(std::string_view part, witlet_probe_probe_types_borrow_target_t target, witlet::Json settings)
{
    Tell tell;
    if (part == "target")
        tell_target(tell, target);
    else if (part == "host")
        tell_host(tell);
    else if (part == "exec")
        tell_exec(tell, target, settings["command"]);
    else if (part == "talk")
        tell_open(tell, target, settings);
    else if (part == "loopback")
        tell_loopback(tell, target, settings);
    else
        tell.text("", "there is no such part");
    return tell.take();
}

// Everything is said by a probe's parameters.
static witlet::Outcome<void> probe(witlet_probe_probe_types_borrow_target_t target, std::string_view parameters, witlet::probe::Answer answer)
{
    witlet::Json settings = witlet::Json::parse(parameters);
    std::string part = member_text(settings, "do");
    if (part == "error")
        return own_error();
    if (part == "failure") {
        answer.failure("it failed");
    } else if (part == "unknown") {
        answer.unknown("nothing was found out");
    } else if (part == "remark") {
        answer.warn("it is old");
        answer.latency(std::chrono::microseconds(1500));
        answer.annotate("version", "7");
        answer.success(R"({"answer.latency": true, "answer.annotate": true})");
    } else {
        answer.success(reported_part(part, target, settings));
    }
    return {};
}

bool exports_witlet_probe_prober_validate(exports_witlet_probe_prober_borrow_setup_t setup, plugin_string_t *config,
                                          exports_witlet_probe_prober_own_error_t *error)
{
    witlet::detail::say(witlet_probe_probe_types_method_setup_warn, setup, "of the configuration");
    return witlet::detail::done(settings_of(witlet::detail::take(*config)).transform([](const std::string &) {}), error);
}

bool exports_witlet_probe_prober_check_parameters(exports_witlet_probe_prober_borrow_check_t check, plugin_string_t *parameters,
                                                  exports_witlet_probe_prober_own_error_t *error)
{
    witlet::detail::say(witlet_probe_probe_types_method_check_warn, check, "of the parameters");
    return witlet::detail::done(settings_of(witlet::detail::take(*parameters)).transform([](const std::string &) {}), error);
}

bool exports_witlet_probe_prober_probe(exports_witlet_probe_prober_borrow_target_t target, plugin_string_t *parameters,
                                       exports_witlet_probe_prober_borrow_answer_t answer,
                                       exports_witlet_probe_prober_own_error_t *error)
{
    return witlet::detail::done(probe(target, witlet::detail::take(*parameters), witlet::probe::Answer(answer)), error);
}
