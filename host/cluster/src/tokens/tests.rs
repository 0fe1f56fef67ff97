//! Tests of tokens against a server that says what it was asked.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use witlet_testkit::{FixedJitter, ManualClock};

use super::*;

/// What the server does with requests, and what it was asked for.
#[derive(Default)]
struct Server {
    /// The next answers' codes; 200 when there are none. 0 never answers.
    codes: Mutex<Vec<u16>>,
    asked: Mutex<Vec<(String, Value)>>,
    given: AtomicUsize,
}

impl Server {
    fn answer_with(&self, codes: &[u16]) {
        *self.codes.lock().unwrap() = codes.to_vec();
    }

    fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn client(self: &Arc<Self>, clock: &ManualClock) -> kube::Client {
        let (server, clock) = (self.clone(), clock.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, clock) = (server.clone(), clock.clone());
            async move { Ok::<_, kube::Error>(server.answer(request, &clock).await) }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>, clock: &ManualClock) -> Response<Body> {
        let path = format!("{} {}", request.method(), request.uri());
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let seconds = body["spec"]["expirationSeconds"].as_i64().unwrap();
        self.asked.lock().unwrap().push((path, body));
        let code = {
            let mut codes = self.codes.lock().unwrap();
            if codes.is_empty() { 200 } else { codes.remove(0) }
        };
        let answer = match code {
            0 => std::future::pending().await,
            200 => {
                let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
                let end = clock.now().checked_add(SignedDuration::from_secs(seconds)).unwrap();
                json!({
                    "spec": {"expirationSeconds": seconds, "audiences": []},
                    "status": {"token": format!("token {number}"), "expirationTimestamp": end.to_string()},
                })
            }
            code => json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure",
                "code": code, "reason": "Odd", "message": "not now",
            }),
        };
        let status = StatusCode::from_u16(code).unwrap();
        Response::builder().status(status).body(Body::from(answer.to_string().into_bytes())).unwrap()
    }
}

struct World {
    server: Arc<Server>,
    clock: ManualClock,
    tokens: Tokens,
    pod: Pod,
}

impl World {
    fn new() -> Self {
        let (server, clock) = (Arc::new(Server::default()), ManualClock::new());
        let jitter = Arc::new(FixedJitter(0.5));
        let tokens = Tokens::new(server.client(&clock), Arc::new(clock.clone()), jitter);
        let pod = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"},
            "spec": {"serviceAccountName": "robot", "containers": []},
        });
        Self { server, clock, tokens, pod: serde_json::from_value(pod).unwrap() }
    }

    async fn token(&self, seconds: i64) -> Result<String, String> {
        let wish = TokenWish { audience: None, expiration_seconds: seconds };
        let token = self.tokens.token(&self.pod, &wish).await;
        token.map(|token| token.token).map_err(|error| error.to_string())
    }

    fn due(&self) -> Vec<PodUid> {
        self.tokens.due(self.clock.now())
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_token_is_asked_for_bound_to_its_pod() {
    let world = World::new();
    let wish = TokenWish { audience: Some("vault".to_owned()), expiration_seconds: 600 };
    let token = world.tokens.token(&world.pod, &wish).await.unwrap();
    assert_eq!(token.expires_at, world.clock.now().checked_add(SignedDuration::from_secs(600)).unwrap());
    let asked = world.server.asked.lock().unwrap().clone();
    assert_eq!(asked[0].0, "POST /api/v1/namespaces/shop/serviceaccounts/robot/token?");
    assert_eq!(
        asked[0].1["spec"],
        json!({
            "audiences": ["vault"], "expirationSeconds": 600,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1"},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_until_a_fifth_of_its_life_is_left() {
    let world = World::new();
    assert_eq!(world.token(3600).await, Ok("token 1".to_owned()));
    // 80 % of an hour, and five seconds by chance.
    pass(2874).await;
    assert_eq!(world.token(3600).await, Ok("token 1".to_owned()));
    assert_eq!(world.due(), vec![]);
    pass(1).await;
    assert_eq!(world.due(), vec![PodUid::from("u-1")]);
    assert_eq!(world.due(), vec![], "reported once");
    assert_eq!(world.token(3600).await, Ok("token 2".to_owned()));
    assert_eq!(world.due(), vec![]);
    pass(2875).await;
    assert_eq!(world.due(), vec![PodUid::from("u-1")]);
    assert_eq!(world.token(600).await, Ok("token 3".to_owned()), "another wish");
    assert_eq!(world.server.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_token_is_used_longer_than_a_day() {
    let world = World::new();
    assert_eq!(world.token(1_000_000).await, Ok("token 1".to_owned()));
    pass(24 * 3600 - 6).await;
    assert_eq!(world.token(1_000_000).await, Ok("token 1".to_owned()));
    pass(1).await;
    assert_eq!(world.token(1_000_000).await, Ok("token 2".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_can_not_be_replaced_is_used_while_it_is_good() {
    let world = World::new();
    world.token(3600).await.unwrap();
    pass(2880).await;
    assert_eq!(world.due().len(), 1);
    world.server.answer_with(&[500, 0, 503]);
    assert_eq!(world.token(3600).await, Ok("token 1".to_owned()));
    assert_eq!(world.token(3600).await, Ok("token 1".to_owned()));
    assert_eq!(world.server.requests(), 2, "not asked for again at once");
    pass(29).await;
    assert_eq!(world.due(), vec![]);
    pass(1).await;
    assert_eq!(world.due().len(), 1, "but after a while");
    let begun = tokio::time::Instant::now();
    assert_eq!(world.token(3600).await, Ok("token 1".to_owned()));
    assert_eq!(begun.elapsed(), ANSWER_WITHIN);
    pass(680).await;
    assert_eq!(world.token(3600).await, Err("token expired and refresh failed: not now".to_owned()));
    assert_eq!(world.token(3600).await, Ok("token 2".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported_from_a_server_that_is_not_there() {
    let world = World::new();
    let wish = TokenWish { audience: None, expiration_seconds: 3600 };
    for (code, is_refused) in [(403, true), (404, true), (422, true), (429, false), (500, false), (0, false)]
    {
        world.server.answer_with(&[code]);
        let error = world.tokens.token(&world.pod, &wish).await.unwrap_err();
        assert_eq!(matches!(error, ObjectError::Refused { .. }), is_refused, "{code} {error}");
        assert!(error.to_string().starts_with("failed to fetch token: "), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_gone_has_no_tokens() {
    let world = World::new();
    world.token(3600).await.unwrap();
    assert!(world.tokens.next_due().is_some());
    world.tokens.forget(&PodUid::from("u-1"));
    assert_eq!(world.tokens.next_due(), None);
    pass(3600).await;
    assert_eq!(world.due(), vec![]);
    assert_eq!(world.token(3600).await, Ok("token 2".to_owned()));
}

/// A node's clock that is two hours ahead of the server's.
#[derive(Clone)]
struct Ahead(ManualClock);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.0.now().checked_add(SignedDuration::from_hours(2)).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_ahead_does_not_have_tokens_replaced_all_the_time() {
    let world = World::new();
    // By this clock, each token has ended before it is given.
    let ahead = Ahead(world.clock.clone());
    let tokens =
        Tokens::new(world.server.client(&world.clock), Arc::new(ahead.clone()), Arc::new(FixedJitter(0.5)));
    let wish = TokenWish { audience: None, expiration_seconds: 3600 };
    for expected in ["token 1", "token 2", "token 3"] {
        for _ in 0..100 {
            assert_eq!(tokens.token(&world.pod, &wish).await.unwrap().token, expected);
            assert_eq!(tokens.due(ahead.now()), vec![], "none is due before that");
        }
        pass(30).await;
        assert_eq!(tokens.due(ahead.now()), vec![PodUid::from("u-1")]);
    }
    assert_eq!(world.server.requests(), 3);
}
