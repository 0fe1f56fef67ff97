//! Tokens that change, and plugins that misbehave.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tempfile::TempDir;
use witlet_testkit::ManualClock;

use super::{Credentials, PLUGIN_PAUSE, TOKEN_FILE_AGE};
use crate::client::exec::{ExecPlugin, PluginVersion};
use crate::client::fixture::{ALWAYS, Authority, in_no_time, put_program};
use crate::client::identity::Identities;
use crate::kubeconfig::User;

fn credentials(user: User) -> (Credentials, Arc<Identities>) {
    let identities = Arc::new(Identities::new(None));
    let clock = Arc::new(ManualClock::new());
    (Credentials::new(user, identities.clone(), clock).expect("credentials"), identities)
}

async fn shown(credentials: &Credentials) -> String {
    let header = credentials.header().await.expect("credentials").expect("a header");
    assert!(header.is_sensitive());
    header.to_str().expect("text").to_owned()
}

#[tokio::test(start_paused = true)]
async fn names_and_tokens_become_headers() {
    let name = User::Basic { name: "me".to_owned(), password: SecretString::from("secret") };
    assert_eq!(shown(&credentials(name).0).await, "Basic bWU6c2VjcmV0");
    assert_eq!(shown(&credentials(User::Token("abc".into())).0).await, "Bearer abc");
    assert!(credentials(User::Anonymous).0.header().await.expect("none").is_none());
    let clock = Arc::new(ManualClock::new());
    let bad = Credentials::new(User::Token("a\nb".into()), Arc::new(Identities::new(None)), clock);
    assert!(bad.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_token_file_is_read_every_minute_and_may_vanish() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    let (credentials, _) = credentials(User::TokenFile { path: path.clone(), first: None });
    assert!(credentials.header().await.is_err(), "no file, and there never was one");
    fs::write(&path, " \n").expect("written");
    assert!(credentials.header().await.expect_err("empty").to_string().ends_with("token: empty"));
    fs::write(&path, "one\n").expect("written");
    assert_eq!(shown(&credentials).await, "Bearer one");
    fs::write(&path, "two").expect("written");
    tokio::time::advance(TOKEN_FILE_AGE - Duration::from_secs(1)).await;
    assert_eq!(shown(&credentials).await, "Bearer one");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(shown(&credentials).await, "Bearer two");
    fs::remove_file(&path).expect("removed");
    tokio::time::advance(TOKEN_FILE_AGE).await;
    assert_eq!(shown(&credentials).await, "Bearer two");
}

/// A plugin that counts its runs in a file and prints what this makes of the count.
struct Script {
    folder: TempDir,
}

impl Script {
    fn new(status: &str) -> (Self, User) {
        let folder = tempfile::tempdir().expect("a folder");
        let command = folder.path().join("plugin");
        let text = format!(
            "#!/bin/sh\necho run >> \"$0.runs\"\nn=$(wc -l < \"$0.runs\")\n[ -e \"$0.broken\" ] && exit 1\n\
             cat <<END\n{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\
             \"status\":{status}}}\nEND\n"
        );
        put_program(&command, &text);
        let plugin = ExecPlugin {
            command,
            args: Vec::new(),
            env: Vec::new(),
            version: PluginVersion::V1beta1,
            install_hint: None,
            cluster: None,
        };
        (Self { folder }, User::Exec(Box::new(plugin)))
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("plugin.{suffix}"))
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).map_or(0, |text| text.lines().count())
    }
}

// Real processes and paused time don't mix, so that the wall clock of these tests stands still, and ends are before or after it.

#[tokio::test]
async fn a_plugin_runs_once_until_its_token_ends_or_is_refused() {
    let (script, user) = Script::new(r#"{"token":"t$n","expirationTimestamp":"2031-01-01T00:00:00Z"}"#);
    let (credentials, _) = credentials(user);
    let (first, second) = tokio::join!(shown(&credentials), shown(&credentials));
    assert_eq!((first.trim(), second.trim(), script.runs()), ("Bearer t1", "Bearer t1", 1));
    let used = credentials.header().await.expect("credentials");
    assert!(credentials.refused(used.as_ref()).await);
    assert_eq!((shown(&credentials).await.as_str(), script.runs()), ("Bearer t2", 2));
    // The same refusal again, by a request that was sent before: the new token is left alone.
    assert!(credentials.refused(used.as_ref()).await);
    assert_eq!((shown(&credentials).await.as_str(), script.runs()), ("Bearer t2", 2));
}

#[tokio::test]
async fn a_plugin_whose_token_has_ended_runs_each_time() {
    let (script, user) = Script::new(r#"{"token":"t$n","expirationTimestamp":"2029-01-01T00:00:00Z"}"#);
    let (credentials, _) = credentials(user);
    assert_eq!(shown(&credentials).await, "Bearer t1");
    assert_eq!((shown(&credentials).await.as_str(), script.runs()), ("Bearer t2", 2));
}

#[tokio::test]
async fn a_plugin_that_fails_is_left_alone_for_a_while() {
    let (script, user) = Script::new(r#"{"token":"t$n"}"#);
    fs::write(script.path("broken"), "").expect("written");
    let (credentials, _) = credentials(user);
    in_no_time(async {
        let first = credentials.header().await.expect_err("broken").to_string();
        fs::remove_file(script.path("broken")).expect("removed");
        tokio::time::advance(PLUGIN_PAUSE - Duration::from_millis(1)).await;
        let second = credentials.header().await.expect_err("it isn't asked again").to_string();
        assert_eq!((first, script.runs()), (second, 1));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!((shown(&credentials).await.as_str(), script.runs()), ("Bearer t2", 2));
    })
    .await;
}

#[tokio::test]
async fn a_plugins_certificate_is_used_for_connections() {
    let (chain, key) = Authority::new().issue("me", ALWAYS);
    let status = serde_json::json!({ "clientCertificateData": chain, "clientKeyData": key });
    // The here-document of the shell would take the backslashes of the line ends away.
    let (_script, user) = Script::new(&status.to_string().replace('\\', "\\\\"));
    let (credentials, identities) = credentials(user);
    let before = identities.generation();
    assert!(credentials.header().await.expect("a certificate").is_none());
    assert!(identities.current().is_some() && before.is_cancelled());
}
