//! Certificates are asked for in time, through whom it must be, and again after every failure.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Effect, Fault, Identity as Caller, Options};
use witlet_ports::Clock as _;
use witlet_testkit::{FixedJitter, ManualClock};

use super::store::CertificateStore;
use super::{Rotation, SigningIdentity, pause_after, through, when_to_renew};
use crate::client::fixture::{Authority, Day};
use crate::client::identity::{Identities, Identity};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

#[test]
fn certificates_are_renewed_between_seven_and_nine_tenths_of_their_life() {
    let (from, to) = (at("2030-01-01T00:00:00Z"), at("2030-01-11T00:00:00Z"));
    let cases = [(0.0, "2030-01-08T00:00:00Z"), (0.5, "2030-01-09T00:00:00Z"), (1.0, "2030-01-10T00:00:00Z")];
    for (random, expected) in cases {
        let off = when_to_renew(from, to, random).duration_until(at(expected)).abs();
        assert!(off.as_millis() < 2, "{random}: {off:?}");
    }
    // Times that no certificate has: at the end, or at once.
    assert_eq!(when_to_renew(from, from, 0.5), from);
    assert!(when_to_renew(to, from, 0.5) < to);
}

#[test]
fn pauses_double_and_stop_growing() {
    let seconds: Vec<_> = (1..=7).map(|failures| pause_after(failures, 0.0).as_secs()).collect();
    assert_eq!(seconds, [2, 4, 8, 16, 32, 32, 32]);
    assert_eq!(pause_after(u32::MAX, 1.0), Duration::from_millis(35_200));
}

#[test]
fn a_bootstrap_is_used_only_while_there_is_no_certificate_that_works() {
    let authority = Authority::new();
    let identity = |to: Day| {
        let (chain, key) = authority.issue("a", ((2030, 1, 1), to));
        Identity::parse(chain.as_bytes(), key.as_bytes()).expect("a pair")
    };
    let now = at("2030-01-05T00:00:00Z");
    let (good, ended) = (identity((2030, 1, 9)), identity((2030, 1, 4)));
    let cases = [
        (Some(&good), true, SigningIdentity::Own),
        (Some(&good), false, SigningIdentity::Own),
        (Some(&ended), true, SigningIdentity::Bootstrap),
        (Some(&ended), false, SigningIdentity::Own),
        (None, true, SigningIdentity::Bootstrap),
    ];
    for (identity, has_bootstrap, expected) in cases {
        assert_eq!(through(identity, has_bootstrap, now), expected, "{identity:?} {has_bootstrap}");
    }
}

/// An API server, a signer, and a node's certificates on disk.
struct World {
    folder: TempDir,
    clock: Arc<ManualClock>,
    server: Arc<ApiServer>,
    authority: Authority,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new());
        let time = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || time.now())));
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, clock, server, authority: Authority::new() }
    }

    fn store(&self) -> CertificateStore {
        CertificateStore::new(self.folder.path().join("pki"))
    }

    fn rotation(&self, identities: &Arc<Identities>) -> Rotation {
        let bootstrap = Caller::new("system:bootstrap:abcdef", &["system:bootstrappers"]);
        Rotation {
            node_name: "n1".to_owned(),
            store: self.store(),
            identities: identities.clone(),
            own: self.server.client(&Caller::node("n1")),
            bootstrap: Some(self.server.client(&bootstrap)),
            rotate: true,
            replace_first: false,
            kubeconfig: Some((self.folder.path().join("kubeconfig"), "text".to_owned())),
            clock: self.clock.clone(),
            jitter: Arc::new(FixedJitter(0.0)),
            metrics: Arc::default(),
        }
    }

    fn requests(&self) -> Vec<CertificateSigningRequest> {
        self.server.list::<CertificateSigningRequest>()
    }

    /// Says something about every request that nothing was said about, and signs if it is `Approved`.
    fn answer(&self, condition: &str, days: (Day, Day)) {
        for mut request in self.requests().into_iter().filter(|request| request.status.is_none()) {
            let certificate = self.authority.sign(&request.spec.request.0, days);
            request.status = Some(CertificateSigningRequestStatus {
                certificate: (condition == "Approved").then(|| ByteString(certificate.into_bytes())),
                conditions: Some(vec![CertificateSigningRequestCondition {
                    type_: condition.to_owned(),
                    status: "True".to_owned(),
                    reason: Some("Test".to_owned()),
                    message: Some("said by the test".to_owned()),
                    ..CertificateSigningRequestCondition::default()
                }]),
            });
            self.server.update_status(&request).expect("answered");
        }
    }
}

/// Longer than anything in these tests takes.
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const POLL_EVERY: Duration = Duration::from_secs(10);

/// Lets the rotation go on until this holds, and then ends it: by its stop, or as a kill does.
async fn run_until(rotation: Rotation, what: impl Fn() -> bool) {
    let stop = CancellationToken::new();
    let until = async {
        let begun = tokio::time::Instant::now();
        while !what() {
            assert!(begun.elapsed() < WEEK, "it never happens");
            tokio::time::sleep(POLL_EVERY).await;
        }
        stop.cancel();
    };
    tokio::join!(rotation.run(&stop), until);
}

const JANUARY: (Day, Day) = ((2029, 12, 31), (2030, 1, 10));

#[tokio::test(start_paused = true)]
async fn a_bootstrap_gets_a_certificate_and_writes_all_that_a_restart_needs() {
    let world = World::new();
    let identities = Arc::new(Identities::new(None));
    run_until(world.rotation(&identities), || {
        world.answer("Approved", JANUARY);
        identities.current().is_some()
    })
    .await;
    let requests = world.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].metadata.name.as_ref().expect("a name").starts_with("node-csr-"));
    assert_eq!(requests[0].spec.username.as_deref(), Some("system:bootstrap:abcdef"));
    let kept = world.store().current().expect("a file");
    assert_eq!(kept.as_ref(), identities.current().as_deref());
    assert_eq!(fs::read_to_string(world.folder.path().join("kubeconfig")).expect("written"), "text");
    assert!(!world.folder.path().join("pki/kubelet-client.key.tmp").exists(), "the key's time is over");
}

#[tokio::test(start_paused = true)]
async fn a_bootstrap_that_is_killed_finds_its_request_again() {
    let world = World::new();
    let identities = Arc::new(Identities::new(None));
    run_until(world.rotation(&identities), || !world.requests().is_empty()).await;
    assert!(identities.current().is_none());
    // Signed while no one checks.
    world.answer("Approved", JANUARY);
    let again = Arc::new(Identities::new(None));
    run_until(world.rotation(&again), || again.current().is_some()).await;
    assert_eq!(world.requests().len(), 1, "the request of before the kill");
    assert_eq!(world.server.count("create certificatesigningrequests"), 2, "the second was a conflict");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_denied_is_not_made_again_until_it_is_forgotten() {
    let world = World::new();
    let identities = Arc::new(Identities::new(None));
    let begun = world.clock.elapsed();
    let name = std::cell::RefCell::new(String::new());
    run_until(world.rotation(&identities), || {
        let after = (world.clock.elapsed() - begun).as_secs();
        if after < 600 {
            world.answer("Denied", JANUARY);
            assert!(world.requests().len() <= 1, "one request, however often it is asked for");
            if let Some(request) = world.requests().first() {
                name.replace(request.metadata.name.clone().expect("a name"));
            }
        } else if after < 700 && !name.borrow().is_empty() {
            // The controller that cleans up takes it away.
            world.server.delete::<CertificateSigningRequest>("", &name.take(), None).expect("deleted");
        } else {
            world.answer("Approved", JANUARY);
        }
        identities.current().is_some()
    })
    .await;
    assert!(world.clock.elapsed() - begun > Duration::from_secs(600));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_failed_or_vanished_is_made_again() {
    for vanish in [false, true] {
        let world = World::new();
        let identities = Arc::new(Identities::new(None));
        run_until(world.rotation(&identities), || !world.requests().is_empty()).await;
        let first = world.requests()[0].metadata.name.clone().expect("a name");
        let spoilt = std::cell::Cell::new(false);
        run_until(world.rotation(&identities), || {
            if !spoilt.replace(true) {
                if vanish {
                    world.server.delete::<CertificateSigningRequest>("", &first, None).expect("deleted");
                } else {
                    world.answer("Failed", JANUARY);
                }
            }
            world.answer("Approved", JANUARY);
            identities.current().is_some()
        })
        .await;
        assert!(world.store().current().expect("a file").is_some(), "vanished {vanish}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_renewed_in_time_by_the_node_itself() {
    let world = World::new();
    let (chain, key) = world.authority.issue("system:node:n1", JANUARY);
    let first = world.store().update(chain.as_bytes(), key.as_bytes(), world.clock.now()).expect("kept");
    let identities = Arc::new(Identities::new(Some(first.clone())));
    run_until(world.rotation(&identities), || {
        world.answer("Approved", ((2030, 1, 1), (2030, 2, 1)));
        identities.current().as_deref() != Some(&first)
    })
    .await;
    let requests = world.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].metadata.name.as_ref().expect("a name").starts_with("csr-"));
    assert_eq!(requests[0].spec.username.as_deref(), Some("system:node:n1"));
    let off = at("2030-01-07T00:00:00Z").duration_until(world.clock.now());
    assert!(!off.is_negative() && off.as_secs() < 120, "at seven tenths: {off:?} later");
    assert_eq!(world.store().current().expect("a file").as_ref(), identities.current().as_deref());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_costs_nothing_but_time() {
    let world = World::new();
    let (chain, key) = world.authority.issue("system:node:n1", JANUARY);
    let first = Identity::parse(chain.as_bytes(), key.as_bytes()).expect("a pair");
    let identities = Arc::new(Identities::new(Some(first.clone())));
    world
        .server
        .fault(Fault::new(Effect::code(500)).verb("create").on("certificatesigningrequests").times(40));
    let rotation = world.rotation(&identities);
    let metrics = rotation.metrics.clone();
    run_until(rotation, || {
        let current = identities.current().expect("never without");
        world.answer("Approved", ((2030, 1, 1), (2030, 2, 1)));
        *current != first
    })
    .await;
    assert_eq!(world.server.count("create certificatesigningrequests"), 41);
    assert_eq!(metrics.renewal_failures(), 40);
    let off = at("2030-01-07T00:00:00Z").duration_until(world.clock.now());
    assert!(off.as_secs() > 35 * 32 && off.as_secs() < 45 * 32, "paused between tries: {off:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ended_certificate_is_replaced_through_the_bootstrap_or_from_the_store() {
    let world = World::new();
    let (chain, key) = world.authority.issue("system:node:n1", ((2029, 12, 1), (2029, 12, 31)));
    let ended = Identity::parse(chain.as_bytes(), key.as_bytes()).expect("a pair");
    let identities = Arc::new(Identities::new(Some(ended.clone())));
    run_until(world.rotation(&identities), || {
        world.answer("Approved", JANUARY);
        identities.current().as_deref() != Some(&ended)
    })
    .await;
    assert_eq!(world.requests()[0].spec.username.as_deref(), Some("system:bootstrap:abcdef"));
    // Another daemon, or an operator, has put a good one into the store: no one is asked.
    let identities = Arc::new(Identities::new(Some(ended.clone())));
    run_until(world.rotation(&identities), || identities.current().as_deref() != Some(&ended)).await;
    assert_eq!(world.requests().len(), 1);
}
