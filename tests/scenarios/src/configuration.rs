//! What the runtime is asked for: what sandboxes and containers are made of.

use std::path::PathBuf;
use std::sync::Arc;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerSpec, NamespaceMode, SandboxSpec, SeccompProfile};
use witlet_testkit::FakeNode;

use crate::support::{
    from_spec, node, orders, pass, pod_with_uid, reported, sleeper, started, status, status_of,
};

/// The pod's sandbox once it runs.
async fn sandbox(node: &FakeNode, pod: Pod) -> SandboxSpec {
    node.source.put("web", vec![pod]);
    pass(3.0).await;
    node.runtime.sandbox_spec("web-node1").expect("a sandbox was made")
}

/// Its container `app`.
async fn container(node: &FakeNode, pod: Pod) -> ContainerSpec {
    node.source.put("web", vec![pod]);
    pass(3.0).await;
    node.runtime.container_spec("web-node1", "app").expect("a container was made")
}

/// A pod with these fields in addition to its container.
fn with(fields: Value) -> Pod {
    let mut spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    for (name, value) in fields.as_object().expect("fields") {
        spec[name] = value.clone();
    }
    from_spec("web", spec)
}

/// A pod with a container of these fields.
fn app(fields: Value) -> Pod {
    let mut app = json!({"name": "app", "image": "sleeper:1"});
    for (name, value) in fields.as_object().expect("fields") {
        app[name] = value.clone();
    }
    pod_with_uid("web", "u1", json!({"containers": [app]}))
}

#[tokio::test(start_paused = true)]
async fn the_environment_has_values_fields_and_what_they_expand_to() {
    let node = started();
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    let resource =
        |name: &str, divisor: &str| json!({"resourceFieldRef": {"resource": name, "divisor": divisor}});
    let mut pod = app(json!({
        "command": ["/bin/$(NAME)"], "args": ["$(GREETING)", "$$(NAME)", "$(MISSING)"], "workingDir": "/work",
        "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}},
        "env": [
            {"name": "NAME", "valueFrom": field("metadata.name")},
            {"name": "NAMESPACE", "valueFrom": field("metadata.namespace")},
            {"name": "POD_UID", "valueFrom": field("metadata.uid")},
            {"name": "COLOUR", "valueFrom": field("metadata.labels['colour']")},
            {"name": "NODE", "valueFrom": field("spec.nodeName")},
            {"name": "POD_IP", "valueFrom": field("status.podIP")},
            {"name": "HOST_IP", "valueFrom": field("status.hostIP")},
            {"name": "CPU", "valueFrom": resource("limits.cpu", "1")},
            {"name": "MEMORY", "valueFrom": resource("limits.memory", "1Mi")},
            {"name": "GREETING", "value": "hello $(NAME) on $(NODE), $$(NODE) and $(LATER)"},
            {"name": "LATER", "value": "later"},
        ],
    }));
    pod.metadata.labels = Some([("colour".to_owned(), "blue".to_owned())].into());
    let config = container(&node, pod).await;
    let env: Vec<String> = config.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    expect![[r#"
        NAME=web-node1
        NAMESPACE=default
        POD_UID=u1
        COLOUR=blue
        NODE=node1
        POD_IP=10.0.0.1
        HOST_IP=192.0.2.1
        CPU=2
        MEMORY=64
        GREETING=hello web-node1 on node1, $(NODE) and $(LATER)
        LATER=later"#]]
    .assert_eq(&env.join("\n"));
    assert_eq!(config.command, ["/bin/web-node1"]);
    expect!["hello web-node1 on node1, $(NODE) and $(LATER) | $(NAME) | $(MISSING)"]
        .assert_eq(&config.args.join(" | "));
    assert_eq!(config.working_dir, "/work");
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_not_there_keeps_the_container_from_being_made() {
    let node = started();
    let pod = app(
        json!({"env": [{"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "no-one"}}}]}),
    );
    node.source.put("web", vec![pod]);
    pass(3.0).await;
    expect!["Pending app: CreateContainerConfigError(environment variable CPU of container app: container no-one not found), 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn name_servers_follow_the_dns_policy() {
    let dns = json!({"nameservers": ["192.0.2.99"], "searches": ["own.test"], "options": [{"name": "ndots", "value": "3"}]});
    let mut all = String::new();
    for (what, fields) in [
        ("cluster first", json!({})),
        ("cluster first on the host network", json!({"hostNetwork": true})),
        ("cluster first with host net", json!({"hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet"})),
        ("default", json!({"dnsPolicy": "Default"})),
        ("none", json!({"dnsPolicy": "None", "dnsConfig": dns})),
        ("default and more", json!({"dnsPolicy": "Default", "dnsConfig": dns})),
    ] {
        let mut node = node();
        node.host.cluster_dns = vec!["10.96.0.10".parse().expect("an address")];
        node.host.cluster_domain = "cluster.local".to_owned();
        node.start();
        let dns = sandbox(&node, with(fields)).await.dns.unwrap_or_default();
        all.push_str(&format!(
            "{what}: {} | {} | {}\n",
            dns.servers.join(" "),
            dns.searches.join(" "),
            dns.options.join(" ")
        ));
    }
    expect![[r#"
        cluster first: 10.96.0.10 | default.svc.cluster.local svc.cluster.local cluster.local example.com | ndots:5
        cluster first on the host network: 192.0.2.53 | example.com | 
        cluster first with host net: 10.96.0.10 | default.svc.cluster.local svc.cluster.local cluster.local example.com | ndots:5
        default: 192.0.2.53 | example.com | 
        none: 192.0.2.99 | own.test | ndots:3
        default and more: 192.0.2.53 192.0.2.99 | example.com own.test | ndots:3
    "#]].assert_eq(&all);
}

#[tokio::test(start_paused = true)]
async fn names_of_the_pod_and_its_hosts_file() {
    let mut all = String::new();
    for (what, fields) in [
        ("plain", json!({})),
        ("hostname", json!({"hostname": "db"})),
        ("subdomain", json!({"hostname": "db", "subdomain": "rack"})),
        ("as FQDN", json!({"hostname": "db", "subdomain": "rack", "setHostnameAsFQDN": true})),
        ("override", json!({"hostnameOverride": "other.example.com"})),
        ("aliases", json!({"hostAliases": [{"ip": "192.0.2.9", "hostnames": ["a", "b"]}]})),
        ("host network", json!({"hostNetwork": true})),
    ] {
        let mut node = node();
        node.host.cluster_domain = "cluster.local".to_owned();
        node.start();
        let mut pod = with(fields);
        pod.metadata.uid = Some("u1".to_owned());
        let config = sandbox(&node, pod).await;
        let hosts = node.machine.hosts(&PodUid::from("u1")).unwrap_or_default();
        let is_reported = |line: &&str| !line.is_empty() && !line.contains("ip6") && !line.starts_with('#');
        let hosts: Vec<&str> = hosts.lines().filter(is_reported).collect();
        all.push_str(&format!("{what}: {:?}\n  {}\n", config.hostname, hosts.join("\n  ")));
    }
    expect![[r#"
        plain: "web-node1"
          127.0.0.1	localhost
          10.0.0.1	web-node1
        hostname: "db"
          127.0.0.1	localhost
          10.0.0.1	db
        subdomain: "db"
          127.0.0.1	localhost
          10.0.0.1	db.rack.default.svc.cluster.local	db
        as FQDN: "db.rack.default.svc.cluster.local"
          127.0.0.1	localhost
          10.0.0.1	db.rack.default.svc.cluster.local	db
        override: "other.example.com"
          127.0.0.1	localhost
          10.0.0.1	other.example.com
        aliases: "web-node1"
          127.0.0.1	localhost
          10.0.0.1	web-node1
          192.0.2.9	a	b
        host network: ""
          127.0.0.1	localhost
          192.0.2.1	node1
    "#]]
    .assert_eq(&all);
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_the_pods_the_hosts_or_shared() {
    use NamespaceMode::{Container, Node, Pod};
    for (fields, network, pid, ipc) in [
        (json!({}), Pod, Container, Pod),
        (json!({"hostNetwork": true}), Node, Container, Pod),
        (json!({"hostPID": true}), Pod, Node, Pod),
        (json!({"hostIPC": true}), Pod, Container, Node),
        (json!({"shareProcessNamespace": true}), Pod, Pod, Pod),
    ] {
        let node = started();
        let config = sandbox(&node, with(fields.clone())).await;
        assert_eq!((config.network, config.pid, config.ipc), (network, pid, ipc), "{fields}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_runtime_class_names_its_handler_and_an_unknown_one_starts_nothing() {
    let mut node = node();
    node.host.runtime_classes = Arc::new([("gvisor".to_owned(), "runsc".to_owned())].into());
    node.start();
    assert_eq!(sandbox(&node, with(json!({"runtimeClassName": "gvisor"}))).await.runtime_handler, "runsc");
    orders(&node);
    node.source.put(
        "bad",
        vec![{
            let mut pod = with(json!({"runtimeClassName": "no-one"}));
            pod.metadata.name = Some("bad".to_owned());
            pod
        }],
    );
    pass(3.0).await;
    assert_eq!(orders(&node), "");
    expect![[r#"
        FailedCreatePodSandBox ×1 Failed to create pod sandbox: runtimeclass.node.k8s.io "no-one" not found
    "#]]
    .assert_eq(&reported(&node, "bad"));
}

#[tokio::test(start_paused = true)]
async fn kernel_parameters_and_port_mappings_are_the_sandboxes() {
    let node = started();
    let mut pod = with(json!({"securityContext": {"sysctls": [
        {"name": "net.ipv4.ip_unprivileged_port_start", "value": "80"}, {"name": "net/ipv4/tcp_syncookies", "value": "1"},
    ]}}));
    pod.spec.as_mut().expect("a spec").containers[0].ports = serde_json::from_value(
        json!([{"containerPort": 80, "hostPort": 8080, "protocol": "UDP"}, {"containerPort": 81}]),
    )
    .expect("ports");
    let config = sandbox(&node, pod).await;
    let sysctls: Vec<String> = config.sysctls.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(sysctls, ["net.ipv4.ip_unprivileged_port_start=80", "net.ipv4.tcp_syncookies=1"]);
    let ports: Vec<String> = config
        .port_mappings
        .iter()
        .map(|p| format!("{:?} {} {}", p.protocol, p.container_port, p.host_port))
        .collect();
    expect!["Udp 80 8080"].assert_eq(&ports.join(", "));
}

#[tokio::test(start_paused = true)]
async fn resources_become_shares_quotas_and_a_score_for_the_out_of_memory_killer() {
    for (resources, shares, quota, memory, oom) in [
        (json!({}), 2, 0, 0, 1000),
        (json!({"requests": {"cpu": "500m"}}), 512, 0, 0, 999),
        (json!({"requests": {"memory": "4Gi"}}), 2, 0, 0, 500),
        (json!({"limits": {"cpu": "2", "memory": "1Gi"}}), 2048, 200_000, 1 << 30, -997),
    ] {
        let node = started();
        let got = container(&node, app(json!({"resources": resources}))).await.resources;
        let seen = (got.cpu_shares, got.cpu_quota_us, got.memory_limit_bytes, got.oom_score_adj);
        assert_eq!(seen, (shares, quota, memory, oom), "{resources}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_security_context_arrives_with_the_containers_before_the_pods() {
    let node = started();
    let context = json!({
        "runAsUser": 1000, "runAsGroup": 1001, "fsGroup": 2000, "supplementalGroups": [3000],
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    let own = json!({
        "runAsUser": 1500, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"},
    });
    let mut pod = app(json!({"securityContext": own}));
    pod.spec.as_mut().expect("a spec").security_context =
        Some(serde_json::from_value(context).expect("a security context"));
    let config = container(&node, pod).await;
    let security = &config.security;
    assert_eq!((security.run_as_user, security.run_as_group), (Some(1500), Some(1001)));
    assert_eq!(security.supplemental_groups, [2000, 3000]);
    assert!(security.read_only_root && security.no_new_privileges && !security.privileged);
    assert_eq!(security.capabilities_add, ["NET_ADMIN"]);
    assert_eq!(security.capabilities_drop, ["ALL"]);
    let profile = PathBuf::from("/var/lib/witlet/seccomp/p.json");
    assert_eq!(security.seccomp, SeccompProfile::Localhost(profile));
    let sandbox = node.runtime.sandbox_spec("web-node1").expect("it was made");
    assert_eq!(sandbox.security.seccomp, SeccompProfile::RuntimeDefault);
}

#[tokio::test(start_paused = true)]
async fn standard_input_and_a_terminal_are_as_asked() {
    let node = started();
    let config = container(&node, app(json!({"stdin": true, "stdinOnce": true, "tty": true}))).await;
    assert!(config.stdin && config.stdin_once && config.tty);
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_users_of_its_own_keeps_their_ids_over_restarts_and_gives_them_back() {
    let mut node = started();
    let pods = || {
        ["one", "two"].map(|name| {
            let app = json!({"name": "app", "image": "sleeper:1"});
            pod_with_uid(name, &format!("uid-{name}"), json!({"hostUsers": false, "containers": [app]}))
        })
    };
    node.source.put("web", pods().to_vec());
    pass(5.0).await;
    let first_id = |node: &FakeNode, name: &str| {
        let config = node.runtime.sandbox_spec(&format!("{name}-node1")).expect("it was made");
        let ids = config.user_namespace.expect("it has ids of its own").uids;
        assert_eq!((ids[0].container_id, ids[0].length), (0, 65_536));
        ids[0].host_id
    };
    let (one, two) = (first_id(&node, "one"), first_id(&node, "two"));
    assert!(one.abs_diff(two) >= 65_536, "{one} {two}");
    node.kill();
    node.start();
    pass(5.0).await;
    node.runtime.lose_sandboxes();
    pass(5.0).await;
    assert_eq!((first_id(&node, "one"), first_id(&node, "two")), (one, two));
    node.source.remove("web");
    pass(20.0).await;
    node.source.put("web", pods()[1..].to_vec());
    pass(5.0).await;
    assert_eq!(first_id(&node, "two"), one.min(two), "the first range is free again");
}

#[tokio::test(start_paused = true)]
async fn ids_that_a_kubelet_gave_out_are_no_one_elses_and_ours_are_written_as_it_reads_them() {
    let mut node = node();
    let file = |first: u32| {
        let range = format!(r#"[{{"hostId":{first},"containerId":0,"length":65536}}]"#);
        format!(r#"{{"uidMappings":{range},"gidMappings":{range}}}"#)
    };
    node.files.add_user_namespace("uid-kubelets", &file(65_536));
    // What is left of a pod that is gone keeps no other pod from starting.
    node.files.add_user_namespace("uid-left", &file(65_536));
    node.start();
    let app = json!({"name": "app", "image": "sleeper:1"});
    let spec = json!({"hostUsers": false, "containers": [app]});
    let pods = ["ours", "kubelets"].map(|name| pod_with_uid(name, &format!("uid-{name}"), spec.clone()));
    node.source.put("web", pods.to_vec());
    pass(5.0).await;
    let first_id = |name: &str| {
        let config = node.runtime.sandbox_spec(&format!("{name}-node1")).expect("it was made");
        config.user_namespace.expect("it has ids of its own").uids[0].host_id
    };
    assert_eq!((first_id("ours"), first_id("kubelets")), (131_072, 65_536));
    assert_eq!(node.files.user_namespace_of("uid-ours"), Some(file(131_072)));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_know_which_ids_are_in_use_does_not_start() {
    let own = |node: &FakeNode| node.state.put("user-namespaces.json", b"{");
    let kubelets = |node: &FakeNode| node.files.add_user_namespace("u", "{}");
    for (damage, what) in [
        (&own as &dyn Fn(&FakeNode), "from user-namespaces.json"),
        (&kubelets, "from pods/u/userns: invalid user namespace mappings file"),
    ] {
        let mut node = node();
        damage(&node);
        node.start();
        node.source.put("web", vec![sleeper("web").build()]);
        pass(30.0).await;
        assert!(node.failure().is_some_and(|why| why.contains(what)), "{:?}", node.failure());
        assert_eq!(orders(&node), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_users_of_its_own_is_not_made_where_the_runtime_would_give_it_the_hosts() {
    let mut node = node();
    node.runtime.set_user_namespaces(false);
    node.start();
    let app = json!({"name": "app", "image": "sleeper:1"});
    node.source.put("web", vec![from_spec("web", json!({"hostUsers": false, "containers": [app]}))]);
    pass(5.0).await;
    assert_eq!(node.runtime.sandbox_spec("web-node1"), None);
    let events = reported(&node, "web");
    let why = "FailedCreatePodSandBox ×1 Failed to create pod sandbox: can't set `spec.hostUsers: false`, \
               runtime does not support user namespaces\n";
    assert_eq!(events, why);
    node.runtime.set_user_namespaces(true);
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn the_pods_status_says_what_it_was_made_with() {
    let node = started();
    let pod = app(json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}));
    node.source.put("web", vec![pod]);
    pass(3.0).await;
    let status = status_of(&node, "web");
    let app = &status.container_statuses.unwrap_or_default()[0];
    let limits = app.resources.clone().and_then(|resources| resources.limits).unwrap_or_default();
    assert_eq!(limits["cpu"].0, "1");
    assert!(
        app.container_id.as_deref().is_some_and(|id| id.starts_with("fake://")),
        "{:?}",
        app.container_id
    );
    assert_eq!(app.image, "sleeper:1");
}
