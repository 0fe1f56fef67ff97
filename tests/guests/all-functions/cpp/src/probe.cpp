// The role probe: every getter of a target, a command and a secret if the parameters name them.
#include "probe.hpp"

#include "tell.hpp"

using namespace witlet::probe;
using witlet::Json;
using witlet::Result;

static constexpr const char *kinds[] = {"startup", "readiness", "liveness"};
static constexpr const char *secret_errors[] = {"not-granted", "not-found"};

static void tell_target(Tell &tell, const Target &target)
{
    PodRef pod = target.pod();
    tell.begin("pod", '{');
    tell.text("namespace", pod.namespace_);
    tell.text("name", pod.name);
    tell.text("uid", pod.uid);
    tell.end('}');
    tell.number("pod-json-bytes", target.pod_json().size());
    tell.text("container", target.container());
    tell.text("container-id", target.container_id());
    tell.number("restarts", target.restarts());
    tell.texts("pod-ips", target.pod_ips());
    tell.texts("host-ips", target.host_ips());
    tell.objects("named-ports", target.named_ports(), [&](const NamedPort &item) {
        tell.text("name", item.name);
        tell.number("port", item.port);
        tell.text("protocol", item.protocol);
    });
    tell.text("kind", kinds[static_cast<size_t>(target.kind())]);
    tell.word("remaining-milliseconds", target.remaining().count() > 0 ? "true" : "false");
}

static void tell_secret(Tell &tell, Json named)
{
    if (!named) {
        tell.word("secret", "null");
        return;
    }
    std::expected<std::string, witlet::SecretError> secret = witlet::secret(named.string().value_or(""));
    tell.text("secret", secret ? *secret : secret_errors[static_cast<size_t>(secret.error())]);
}

static void tell_exec(Tell &tell, const Target &target, Json command)
{
    if (!command) {
        tell.word("exec", "null");
        return;
    }
    std::vector<std::string> words;
    for (Json item : command.items())
        words.push_back(item.string().value_or(""));
    std::expected<Executed, ExecError> executed = target.exec(words);
    tell.begin("exec", '{');
    if (executed) {
        tell.number("exit-code", executed->exit_code);
        tell.text("output", executed->output);
    } else if (executed.error().timed_out()) {
        tell.word("timed-out", "true");
    } else {
        tell.text("failed", *executed.error().failed);
    }
    tell.end('}');
}

// All that the target has, as JSON.
static std::string tell_all(const Target &target, Json parameters)
{
    Tell tell;
    tell.begin("", '{');
    tell_target(tell, target);
    tell.pointers("pod-pointer", parameters["pointers"], [&](const std::string &path) { return target.pod_pointer(path); });
    tell_secret(tell, parameters["secret"]);
    tell_exec(tell, target, parameters["command"]);
    tell.end('}');
    return tell.take();
}

class Prober {
  public:
    static Result<Prober> from_config(std::string_view config)
    {
        if (Result<void> checked = check_settings(config); !checked)
            return std::unexpected(checked.error());
        return Prober();
    }

    static Result<std::string> parameters(std::string_view text)
    {
        if (Result<void> checked = check_settings(text); !checked)
            return std::unexpected(checked.error());
        return std::string(text);
    }

    Result<Outcome> probe(const Target &target, const std::string &text) const
    {
        Json parameters = Json::parse(std::string_view(text));
        Json named = parameters["answer"];
        if (std::optional<std::string> words = named["error"].string())
            return std::unexpected(*words);
        std::string answer = named ? named.string().value_or("") : "success";
        if (answer == "success")
            return success(tell_all(target, parameters));
        if (answer == "warning")
            return warning(tell_all(target, parameters));
        if (answer == "failure")
            return failure(tell_all(target, parameters));
        return witlet::fail("there is no such answer");
    }
};

WITLET_PROBE_TYPE(Prober)
