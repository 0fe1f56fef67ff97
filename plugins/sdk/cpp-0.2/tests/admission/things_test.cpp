// What the classes give of a manifest, on the fakes of C, which are held to what the host says. It runs in a project of an admission handler:
// `tests/languages` puts it there.
#include "testing/admission.hpp"

#include "admission.hpp"

// What the fakes have for themselves.
extern "C" {
extern const fake_request *fakes_asked;
void fakes_begin(void);
const char *fakes_end(bool good, witlet_host_errors_own_error_t error);
}

using namespace witlet;

static const std::string manifest = R"({
    "metadata": {"namespace": "shop", "name": "web", "uid": "u", "labels": {"b": "2", "a": "1"}, "annotations": {"n": "1"},
                 "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "o", "controller": true}]},
    "spec": {
        "hostPID": true, "priority": 7, "priorityClassName": "high", "runtimeClassName": "sandboxed",
        "initContainers": [{"name": "proxy", "image": "a/proxy:1", "restartPolicy": "Always"}],
        "containers": [{
            "name": "app", "image": "nginx", "imagePullPolicy": "Always", "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}},
            "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}], "env": [{"name": "A"}],
            "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "x", "readOnly": true}],
            "securityContext": {"privileged": true, "runAsUser": 7, "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                                "seccompProfile": {"type": "RuntimeDefault"}}
        }],
        "volumes": [{"name": "data", "hostPath": {"path": "/srv"}}, {"name": "models", "image": {"reference": "models"}}]
    }
})";

// The plugin of the project isn't asked: the things are those of a request that is there.
static admission::Request begin(const fake_request &request)
{
    fakes_asked = &request;
    fakes_begin();
    return admission::Request(witlet_admission_admission_types_borrow_request_t{1});
}

static std::string texts(const std::vector<std::string> &list)
{
    std::string all;
    for (const std::string &text : list)
        all += concat(text, " ");
    return all;
}

static void a_pod_has_what_its_manifest_says()
{
    fake_request asked = {};
    asked.pod = manifest.c_str();
    const char *const handlers[] = {"sandboxed", "kata", nullptr};
    asked.runtime_handlers = handlers;
    admission::Request request = begin(asked);
    admission::Pod pod = request.pod();
    CHECK_TEXT(concat(pod.namespace_(), "/", pod.name(), " ", pod.uid(), " ", pod.source(), " ", request.operation()), "shop/web u file add");
    CHECK(pod.label("a") == "1" && !pod.label("c") && pod.annotation("n") == "1");
    CHECK(pod.labels() == Pairs{{"a", "1"}, {"b", "2"}} && pod.annotations().size() == 1);
    CHECK(pod.priority() == 7 && pod.priority_class() == "high" && pod.runtime_class() == "sandboxed" && pod.runtime_handler() == "kata");
    CHECK(pod.host_pid() && !pod.host_ipc() && !pod.host_network() && pod.host_users() && !pod.has_service_account_token());
    CHECK(pod.service_account() == "default" && pod.qos() == "Burstable" && pod.json() == manifest && pod.pointer("/spec/priority") == "7");
    CHECK(pod.request("cpu") == 500 && pod.limit("memory") == 1073741824 && !pod.limit("cpu"));
    CHECK_TEXT(texts(pod.resources()), "cpu memory ");
    std::vector<admission::Owner> owners = pod.owners();
    CHECK(owners.size() == 1 && owners[0].kind() == "ReplicaSet" && owners[0].is_controller() && owners[0].api_version() == "apps/v1");
    std::vector<admission::HostPort> ports = pod.host_ports();
    CHECK(ports.size() == 1 && ports[0].number() == 8080 && ports[0].address() == "10.0.0.1" && ports[0].protocol() == "TCP");
    std::vector<admission::Volume> volumes = pod.volumes();
    CHECK(volumes.size() == 2 && volumes[0].kind() == "hostPath" && volumes[0].host_path() == "/srv" && !volumes[0].image());
    CHECK(volumes[1].image()->place() == "spec.volumes[1].image.reference" && volumes[1].pointer("/name") == "\"models\"");
    std::vector<admission::Image> images = pod.images();
    CHECK(images.size() == 3 && images[0].tag() == "1" && admission::is_within(images[0], "docker.io/a"));
    CHECK(!admission::is_within(images[0], "docker.io/ab") && images[1].registry() == "docker.io" && !images[1].digest());
    CHECK_TEXT(admission::text(images[1]), R"(image "docker.io/library/nginx:latest" (spec.containers[0].image))");
}

static void a_container_has_what_its_manifest_says()
{
    fake_request asked = {};
    asked.pod = manifest.c_str();
    admission::Pod pod = begin(asked).pod();
    std::vector<admission::Container> containers = pod.containers();
    CHECK(containers.size() == 2 && containers[0].kind() == "sidecar" && containers[0].place() == "spec.initContainers[0]");
    const admission::Container &app = containers[1];
    CHECK(app.name() == "app" && app.image().reference() == "nginx" && app.image().repository() == "library/nginx" && app.pull_policy() == "Always");
    CHECK(app.request("cpu") == 500 && app.limit("memory") == 1073741824 && texts(app.resources()) == "cpu memory ");
    CHECK(app.privileged() && !app.run_as_non_root() && app.run_as_user() == 7 && !app.run_as_group() && app.allow_privilege_escalation());
    CHECK(!app.read_only_root_filesystem() && app.seccomp_profile() == "RuntimeDefault" && !app.apparmor_profile());
    CHECK(texts(app.added_capabilities()) == "NET_ADMIN " && texts(app.dropped_capabilities()) == "ALL " && texts(app.env_names()) == "A ");
    CHECK(app.ports()[0].name() == "http" && app.ports()[0].number() == 80 && app.ports()[0].host_port() == 8080);
    CHECK(app.ports()[0].protocol() == "TCP" && app.pointer("/name") == "\"app\"");
    std::vector<admission::Mount> mounts = app.mounts();
    CHECK(mounts[0].volume() == "data" && mounts[0].path() == "/data" && mounts[0].sub_path() == "x" && mounts[0].read_only());
    CHECK(!mounts[0].is_device());
}

static void a_node_has_what_its_manifest_says()
{
    fake_request asked = {};
    asked.now_seconds = 7;
    asked.pod = "{}";
    asked.old_pod = R"({"metadata": {"name": "old"}})";
    asked.node = R"({"metadata": {"name": "n1", "labels": {"disk": "fast"}}, "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}, "conditions": [{"type": "Ready", "status": "True", "reason": "Up"}]}})";
    const char *const others[] = {R"({"metadata": {"name": "other"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}})", nullptr};
    asked.other_pods = others;
    admission::Request request = begin(asked);
    admission::Node node = request.node();
    CHECK(request.now().time_since_epoch() == std::chrono::seconds(7) && request.old_pod()->name() == "old" && !request.image());
    CHECK(node.name() == "n1" && node.label("disk") == "fast" && node.labels().size() == 1 && node.pointer("/spec/taints/0/key") == "\"a\"");
    CHECK(node.taints()[0].key() == "a" && node.taints()[0].value() == "b" && node.taints()[0].effect() == "NoSchedule");
    CHECK(node.condition("Ready")->status() == "True" && !node.condition("None") && node.conditions()[0].reason() == "Up");
    CHECK(node.conditions()[0].kind() == "Ready" && node.conditions()[0].message().empty());
    CHECK(node.capacity("cpu") == 4000 && node.allocatable("cpu") == 3000 && node.requested("cpu") == 1000 && node.available("cpu") == 2000);
    CHECK(!node.used("cpu") && node.used_host_ports().empty() && !node.fact("os") && node.facts().empty() && node.devices() == "[]");
    CHECK_TEXT(texts(node.resources()), "cpu pods ");
    CHECK(request.other_pods().size() == 1 && request.other_pods()[0].name() == "other");
}

int main()
{
    for (auto check : {a_pod_has_what_its_manifest_says, a_container_has_what_its_manifest_says, a_node_has_what_its_manifest_says}) {
        check();
        // Everything was dropped.
        CHECK_TEXT(fakes_end(true, {}), "");
    }
    return testing::end(__FILE__);
}
