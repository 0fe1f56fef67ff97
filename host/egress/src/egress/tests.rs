//! Names that are looked up for a call, by resolvers that tests make.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use super::*;
use crate::grant::NetworkGrant;
use crate::resolve::ResolveError;
use crate::testing::{LIMIT, Server, ends};

/// Answers with the next list each time, and with the last one from then on.
#[derive(Default)]
struct Answers {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Answers {
    fn with(self, name: &str, lists: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| list.iter().map(|ip| ip.parse().expect("it is an address")).collect();
        let mut lists: Vec<Vec<IpAddr>> = lists.iter().map(parse).collect();
        lists.reverse();
        self.answers.lock().unwrap().insert(name.to_owned(), lists);
        self
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolve for Answers {
    async fn resolve(&self, name: &HostName) -> Result<Vec<IpAddr>, ResolveError> {
        self.asked.lock().unwrap().push(name.to_string());
        let mut answers = self.answers.lock().unwrap();
        let Some(lists) = answers.get_mut(name.as_str()) else {
            return Err(ResolveError::Failed { name: name.to_string(), words: "no such host".to_owned() });
        };
        Ok(if lists.len() > 1 { lists.pop().unwrap() } else { lists[0].clone() })
    }
}

/// Never answers.
struct Silent;

#[async_trait]
impl Resolve for Silent {
    async fn resolve(&self, _: &HostName) -> Result<Vec<IpAddr>, ResolveError> {
        std::future::pending().await
    }
}

fn egress(answers: Answers) -> (Egress, Arc<Answers>) {
    let answers = Arc::new(answers);
    (Egress::system().with_resolver(answers.clone()), answers)
}

fn reach(grants: &[&str]) -> Reach {
    let grants: Vec<NetworkGrant> = grants.iter().map(|text| text.parse().expect("it is a grant")).collect();
    Reach::new(grants, &[], None)
}

async fn connected(
    egress: &Egress,
    reach: &Reach,
    host: &str,
    port: u16,
) -> Result<SocketAddr, ConnectError> {
    let stream = ends(egress.connect(reach, host, port, Instant::now() + LIMIT)).await?;
    Ok(stream.peer_addr().expect("it is connected"))
}

#[tokio::test]
async fn only_granted_names_are_asked_for() {
    let (egress, answers) = egress(Answers::default().with("a.example", &[&["192.0.2.1"]]));
    let reach = reach(&["a.example:80", "no-one.example:80", "10.0.0.0/8"]);
    let found = ends(egress.look_up(&reach, "A.example.")).await;
    assert_eq!(found, Ok(vec!["192.0.2.1".parse().expect("an address")]));
    for name in ["b.example", "secret-data.evil.example", "10.0.0.1", "", "a b"] {
        let error = ends(egress.look_up(&reach, name)).await.expect_err("not granted");
        assert_eq!(error, LookupError::Denied { name: name.to_owned() });
        let error = connected(&egress, &reach, name, 80).await;
        let refused = matches!(error, Err(ConnectError::Denied { .. } | ConnectError::Failed { .. }));
        assert!(refused || name == "10.0.0.1", "{name}: {error:?}");
    }
    // Nor at another port: asking tells the name server something, too.
    assert!(matches!(connected(&egress, &reach, "a.example", 81).await, Err(ConnectError::Denied { .. })));
    assert_eq!(answers.asked(), ["a.example"]);
    let error = ends(egress.look_up(&reach, "no-one.example")).await.expect_err("it doesn't resolve");
    assert_eq!(error.to_string(), "lookup no-one.example: no such host");
}

#[tokio::test]
async fn a_name_that_is_rebound_leads_nowhere_new() {
    let server = Server::stuck().await;
    let port = server.port();
    // First good, then this host: the second answer is never even asked for.
    let rebinding = Answers::default().with("a.example", &[&["192.0.2.1"], &["127.0.0.1"]]);
    let (egress, answers) = egress(rebinding);
    let reach = reach(&[&format!("a.example:{port}")]);
    ends(egress.look_up(&reach, "a.example")).await.expect("it resolves");
    let again = ends(egress.look_up(&reach, "a.example")).await;
    assert_eq!(again, Ok(vec!["192.0.2.1".parse().expect("an address")]));
    assert_eq!(answers.asked().len(), 1);
    // The next call asks again, and is refused.
    let grant = format!("a.example:{port}");
    let next = Reach::new(vec![grant.parse::<NetworkGrant>().expect("it is a grant")], &[], None);
    let error = connected(&egress, &next, "a.example", port).await.expect_err("it is this host");
    assert_eq!(error.to_string(), "dial tcp: no address of a.example is granted");
}

#[tokio::test]
async fn a_name_reaches_this_host_only_by_an_address_grant() {
    let server = Server::stuck().await;
    let port = server.port();
    let (egress, _) = egress(Answers::default().with("a.example", &[&["169.254.169.254", "127.0.0.1"]]));
    let by_name = format!("a.example:{port}");
    let by_address = format!("127.0.0.1:{port}");
    let denied = connected(&egress, &reach(&[&by_name]), "a.example", port).await;
    assert!(matches!(denied, Err(ConnectError::Lookup(LookupError::AddressesDenied { .. }))), "{denied:?}");
    let both = reach(&[&by_name, &by_address]);
    assert_eq!(connected(&egress, &both, "a.example", port).await.expect("it is granted"), server.address);
    // The address alone opens no name.
    let denied = connected(&egress, &reach(&[&by_address]), "a.example", port).await;
    assert!(matches!(denied, Err(ConnectError::Denied { .. })), "{denied:?}");
}

#[tokio::test]
async fn addresses_need_no_resolver() {
    let server = Server::stuck().await;
    let port = server.port();
    let silent = Egress::system().with_resolver(Arc::new(Silent));
    let granted = reach(&[&format!("127.0.0.1:{port}")]);
    for host in ["127.0.0.1", "::ffff:127.0.0.1"] {
        let peer = connected(&silent, &granted, host, port).await.expect("it is granted");
        assert_eq!((peer.ip().to_canonical(), peer.port()), (server.address.ip(), port));
    }
    for host in ["127.0.0.2", "::1", "0.0.0.0", "::", "::127.0.0.1"] {
        let denied = connected(&silent, &granted, host, port).await;
        assert!(matches!(denied, Err(ConnectError::Denied { .. })), "{host}: {denied:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_resolver_is_waited_for_until_the_deadline() {
    let silent = Egress::system().with_resolver(Arc::new(Silent));
    let deadline = Instant::now() + Duration::from_secs(3);
    let error =
        silent.connect(&reach(&["a.example:80"]), "a.example", 80, deadline).await.expect_err("silence");
    assert_eq!(error.to_string(), "dial tcp a.example:80: i/o timeout");
    assert_eq!(Instant::now(), deadline);
}

#[tokio::test]
async fn the_next_address_is_tried_where_one_refuses() {
    let server = Server::stuck().await;
    let port = server.port();
    // No one listens at the first.
    let (egress, _) = egress(Answers::default().with("a.example", &[&["127.0.0.9", "127.0.0.1"]]));
    let granted = reach(&[&format!("a.example:{port}"), &format!("127.0.0.0/8:{port}")]);
    assert_eq!(connected(&egress, &granted, "a.example", port).await.expect("the second"), server.address);
}
