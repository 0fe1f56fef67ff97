// The role admission: every getter of a request, or the verdict that the configuration names.
#include "admission.hpp"

#include "attack.hpp"
#include "tell.hpp"

using namespace witlet::admission;
using witlet::Json;
using witlet::Level;
using witlet::Result;

// The enums' names in the contract, in its order.
static constexpr const char *operations[] = {"add", "resize"};
static constexpr const char *qos_classes[] = {"guaranteed", "burstable", "best-effort"};
static constexpr const char *container_kinds[] = {"init", "sidecar", "app", "ephemeral"};
static constexpr const char *levels[] = {"trace", "debug", "info", "warn", "error"};

template <class Enum>
static const char *name(const auto &names, Enum value)
{
    return names[static_cast<size_t>(value)];
}

static void tell_quantities(Tell &tell, std::string_view key, const std::vector<Quantity> &quantities)
{
    tell.objects(key, quantities, [&](const Quantity &item) {
        tell.text("resource", item.resource);
        tell.number("amount", item.amount);
    });
}

static void tell_host_ports(Tell &tell, std::string_view key, const std::vector<HostPort> &ports)
{
    tell.objects(key, ports, [&](const HostPort &item) {
        tell.text("ip", item.ip);
        tell.text("protocol", item.protocol);
        tell.number("port", item.port);
    });
}

static void tell_pod(Tell &tell, std::string_view key, const Pod &pod, Json pointers)
{
    tell.begin(key, '{');
    PodRef identity = pod.identity();
    tell.begin("identity", '{');
    tell.text("namespace", identity.namespace_);
    tell.text("name", identity.name);
    tell.text("uid", identity.uid);
    tell.end('}');
    tell.text("source", pod.source());
    tell.pairs("labels", pod.labels());
    tell.pairs("annotations", pod.annotations());
    tell.number("priority", pod.priority());
    tell.objects("containers", pod.containers(), [&](const Container &item) {
        tell.text("name", item.name);
        tell.text("kind", name(container_kinds, item.kind));
        tell.text("image", item.image);
    });
    tell_quantities(tell, "requests", pod.requests());
    tell_host_ports(tell, "host-ports", pod.host_ports());
    tell.text("qos", name(qos_classes, pod.qos()));
    tell.number("json-bytes", pod.json().size());
    tell.pointers("pointer", pointers, [&](const std::string &path) { return pod.pointer(path); });
    tell.end('}');
}

static void tell_node(Tell &tell, const Node &node, Json pointers)
{
    tell.begin("node", '{');
    tell.text("name", node.name());
    tell.pairs("labels", node.labels());
    tell.objects("taints", node.taints(), [&](const Taint &item) {
        tell.text("key", item.key);
        tell.text("value", item.value);
        tell.text("effect", item.effect);
    });
    tell_quantities(tell, "capacity", node.capacity());
    tell_quantities(tell, "allocatable", node.allocatable());
    tell_quantities(tell, "requested", node.requested());
    tell_host_ports(tell, "used-host-ports", node.used_host_ports());
    tell.objects("conditions", node.conditions(), [&](const Condition &item) {
        tell.text("kind", item.kind);
        tell.text("status", item.status);
        tell.text("reason", item.reason);
        tell.text("message", item.message);
    });
    tell.pairs("facts", node.facts());
    tell.json("devices", node.devices());
    tell.number("json-bytes", node.json().size());
    tell.pointers("pointer", pointers, [&](const std::string &path) { return node.pointer(path); });
    tell.end('}');
}

// All that the request has, as JSON.
static std::string tell_request(const Request &request, const std::string &config)
{
    Json pointers = Json::parse(std::string_view(config))["pointers"];
    Tell tell;
    tell.begin("", '{');
    tell.text("operation", name(operations, request.operation()));
    auto seconds = std::chrono::floor<std::chrono::seconds>(request.now());
    tell.begin("now", '{');
    tell.number("seconds", seconds.time_since_epoch().count());
    tell.number("nanoseconds", (request.now() - seconds).count());
    tell.end('}');
    tell_pod(tell, "pod", request.pod(), pointers);
    tell_node(tell, request.node(), pointers);
    tell.begin("other-pods", '[');
    for (const Pod &other : request.other_pods())
        tell_pod(tell, "", other, pointers);
    tell.end(']');
    tell.json("config", config);
    tell.end('}');
    return tell.take();
}

static std::vector<Shortage> read_shortages(Json list)
{
    std::vector<Shortage> shortages;
    for (Json item : list.items())
        shortages.push_back({member_text(item, "resource"), member_number(item, "requested"), member_number(item, "used"),
                             member_number(item, "capacity")});
    return shortages;
}

// The verdict that is named.
static Result<Verdict> answer(Json named)
{
    if (std::optional<std::string> words = named["error"].string())
        return std::unexpected(*words);
    if (std::optional<std::string> attacked = named["attack"].string())
        return attack(*attacked);
    if (named.string() == "admit")
        return admit();
    if (Json deferral = named["defer"]; deferral.is_object())
        return defer(member_text(deferral, "reason"), member_text(deferral, "message"),
                     std::chrono::milliseconds(member_number(deferral, "retryAfterMilliseconds")));
    if (Json shortages = named["shortage"]; shortages.is_array())
        return shortage(read_shortages(shortages));
    return witlet::fail("there is no such answer");
}

class Handler {
  public:
    static Result<Handler> from_config(std::string_view config)
    {
        if (Result<void> checked = check_settings(config); !checked)
            return std::unexpected(checked.error());
        return Handler();
    }

    Result<Verdict> admit(const Request &request) const
    {
        for (Level level : {Level::trace, Level::debug, Level::info, Level::warn, Level::error})
            witlet::log(level, witlet::concat("logged at ", name(levels, level)), {{"language", "cpp"}});
        std::string config = witlet::config();
        Json named = Json::parse(std::string_view(config))["answer"];
        return named ? answer(named) : reject("Reported", tell_request(request, config));
    }
};

WITLET_ADMISSION_HANDLER(Handler)
