//! The network of pods: an address each, and confinement to it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use libtest_mimic::Trial;
use witlet_proto::cri::*;

use crate::client::{Pod, Runtime, program};
use crate::on_shared;

/// How long a server that isn't the test's may take.
const OTHERS_MAX: Duration = Duration::from_secs(5);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("a_server_answers_at_its_pods_address", server),
        on_shared("sockets_are_confined_to_the_pod", confined),
        on_shared("pods_talk_to_each_other_from_their_own_addresses", pods_talk),
        on_shared("names_are_not_looked_up", names),
        on_shared("a_pod_on_the_nodes_network_is_not_confined", host_network),
        on_shared("addresses_are_unique_and_given_up_with_the_sandbox", addresses),
    ]
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: pod\r\n\r\n").as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

async fn serve(runtime: &Runtime, pod: &Pod) -> String {
    let id = runtime.run(pod, "server", program("http_server", &[])).await;
    runtime.says(&id, "listening on").await;
    id
}

async fn server(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = serve(&runtime, &pod).await;
    let answer = get(&format!("{}:8080", pod.address), "/greeting");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let greeting = format!("Hello from {}: you asked for /greeting\n", pod.config.hostname);
    assert!(answer.ends_with(&greeting), "{answer}");
    let first = &runtime.output(&id).await[0];
    assert_eq!(first, &format!("stdout F listening on {}:8080", pod.address));
    // Another process of the machine may.
    if let Ok(mut stream) = TcpStream::connect("127.0.0.1:8080") {
        let mut answer = Vec::new();
        drop(stream.set_read_timeout(Some(OTHERS_MAX)));
        drop(
            stream
                .write_all(b"GET /greeting HTTP/1.0\r\n\r\n")
                .and_then(|()| stream.read_to_end(&mut answer)),
        );
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.contains(&pod.config.hostname), "it listens on the node's own address: {answer}");
    }
    runtime.remove_pod(&pod.id).await.expect("it is removed");
    assert!(TcpStream::connect(format!("{}:8080", pod.address)).is_err(), "no one listens any more");
}

async fn confined(runtime: Runtime) {
    let pod = runtime.pod().await;
    let node = TcpListener::bind("127.0.0.1:0").expect("a listener of the node");
    let node = node.local_addr().expect("an address").to_string();
    let elsewhere = node.replace("127.0.0.1", "127.0.0.2");
    let own = format!("{}:8081", pod.address);
    for (name, arguments, expected) in [
        ("any", ["bind", "0.0.0.0:8081"], format!("stdout F bound {own}")),
        ("own", ["bind", own.as_str()], format!("stdout F bound {own}")),
        ("other", ["bind", "127.88.255.254:8081"], "stdout F bind: AddrNotAvailable".to_owned()),
        ("loopback", ["bind", "127.0.0.1:8081"], "stdout F bind: AddrNotAvailable".to_owned()),
        ("ipv6", ["bind", "[::]:8081"], "stdout F bind: Unsupported".to_owned()),
        // `localhost` is the pod, where nothing listens, and not the node, where a server does.
        ("localhost", ["connect", node.as_str()], "stdout F connect: ConnectionRefused".to_owned()),
        ("node", ["connect", elsewhere.as_str()], "stdout F connect: PermissionDenied".to_owned()),
        ("world", ["connect", "192.0.2.1:80"], "stdout F connect: PermissionDenied".to_owned()),
        ("datagram", ["datagram", "192.0.2.1:53"], "stdout F send: PermissionDenied".to_owned()),
    ] {
        let (code, lines) = runtime.subject(&pod, name, &arguments).await;
        assert_eq!(lines, [expected.as_str()], "{name}");
        assert_eq!(code, i32::from(!expected.contains("bound")), "{name}");
    }
}

async fn pods_talk(runtime: Runtime) {
    let (one, other) = (runtime.pod().await, runtime.pod().await);
    serve(&runtime, &one).await;
    let target = format!("{}:8080", one.address);
    let (code, lines) = runtime.subject(&other, "client", &["connect", &target]).await;
    let greeting = format!("Hello from {}: you asked for /", one.config.hostname);
    let expected =
        [format!("stdout F from {} to {target}", other.address), format!("stdout F answer {greeting:?}")];
    assert_eq!((code, lines.as_slice()), (0, expected.as_slice()));
    let (code, lines) = runtime.subject(&one, "neighbour", &["connect", "127.0.0.1:8080"]).await;
    assert_eq!(
        (code, lines[0].as_str()),
        (0, format!("stdout F from {0} to {target}", one.address).as_str())
    );

    let receiver = UdpSocket::bind((one.address.as_str(), 0)).expect("a socket at the pod's address");
    receiver.set_read_timeout(Some(witlet_harness::WAIT_TIMEOUT)).expect("it can be set");
    let target = receiver.local_addr().expect("an address").to_string();
    let (code, lines) = runtime.subject(&other, "sender", &["datagram", &target]).await;
    assert_eq!((code, lines), (0, vec![format!("stdout F sent from {}", other.address)]));
    let mut datagram = [0; 16];
    let (length, from) = receiver.recv_from(&mut datagram).expect("it arrives");
    assert_eq!((&datagram[..length], from.ip().to_string()), (&b"hello"[..], other.address.clone()));
}

async fn names(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (code, lines) = runtime.subject(&pod, "localhost", &["lookup", "localhost"]).await;
    assert_eq!((code, lines), (0, vec![format!("stdout F found [\"{}\"]", pod.address)]));
    let (code, lines) = runtime.subject(&pod, "world", &["lookup", "example.com"]).await;
    assert_eq!((code, lines), (1, vec!["stdout F not found".to_owned()]));
}

async fn host_network(runtime: Runtime) {
    let options = NamespaceOption { network: NamespaceMode::Node.into(), ..Default::default() };
    let security_context =
        Some(LinuxSandboxSecurityContext { namespace_options: Some(options), ..Default::default() });
    let linux = Some(LinuxPodSandboxConfig { security_context, ..Default::default() });
    let pod = runtime.pod_of(PodSandboxConfig { linux, ..runtime.sandbox_config() }).await;
    assert_eq!(pod.address, "", "it has no address of its own");
    let (code, lines) = runtime.subject(&pod, "any", &["bind", "0.0.0.0:0"]).await;
    assert!(code == 0 && lines[0].starts_with("stdout F bound 0.0.0.0:"), "{lines:?}");
    let (code, lines) = runtime.subject(&pod, "loopback", &["bind", "127.0.0.1:0"]).await;
    assert!(code == 0 && lines[0].starts_with("stdout F bound 127.0.0.1:"), "{lines:?}");
}

async fn addresses(runtime: Runtime) {
    let (one, other) = (runtime.pod().await, runtime.pod().await);
    assert_ne!(one.address, other.address);
    for pod in [&one, &other] {
        assert!(pod.address.starts_with("127.88."), "{}", pod.address);
    }
    runtime.stop_pod(&one.id).await.expect("it stops");
    runtime.stop_pod(&one.id).await.expect("stopped is stopped");
    let status = runtime.sandbox_status(&one.id).await.expect("it is still there");
    assert_eq!(status.state(), PodSandboxState::SandboxNotready);
    assert_eq!(status.network.expect("a network").ip, "", "it has given its address up");
    runtime.remove_pod(&one.id).await.expect("it is removed");
    runtime.remove_pod(&other.id).await.expect("it is removed");
}
