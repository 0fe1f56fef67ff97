//! Plugins that are shell scripts.

use std::fs;

use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use crate::client::fixture::{put_program, soon};

use super::{ExecPlugin, PluginError, PluginVersion, read_answer};

/// A plugin that is a shell script.
fn script(body: &str) -> (TempDir, ExecPlugin) {
    let folder = tempfile::tempdir().expect("a folder");
    let command = folder.path().join("plugin");
    put_program(&command, &format!("#!/bin/sh\n{body}\n"));
    let plugin = ExecPlugin {
        command,
        args: vec!["first".to_owned()],
        env: vec![("EXTRA".to_owned(), "given".to_owned())],
        version: PluginVersion::V1,
        install_hint: Some("get it somewhere".to_owned()),
        cluster: Some(serde_json::json!({ "server": "https://api" })),
    };
    (folder, plugin)
}

const HEAD: &str = r#""kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1""#;

#[tokio::test]
async fn a_plugin_is_reported_what_it_must_know_and_its_token_is_taken() {
    let body = format!(
        "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*) ;; *) exit 3;; esac\n\
         case \"$KUBERNETES_EXEC_INFO\" in *'\"server\":\"https://api\"'*) ;; *) exit 4;; esac\n\
         echo '{{{HEAD},\"status\":{{\"token\":\"'\"$1-$EXTRA\"'\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"}}}}'"
    );
    let (_folder, plugin) = script(&body);
    let credential = plugin.run().await.expect("a credential");
    assert_eq!(credential.token.expect("a token").expose_secret(), "first-given");
    assert_eq!(credential.expires.expect("an end").as_second(), 1_893_456_000);
    assert!(credential.certificate.is_none());
}

#[tokio::test]
async fn a_plugin_that_fails_is_quoted_and_one_that_is_missing_comes_with_a_hint() {
    let (folder, mut plugin) = script("echo 'not logged in' >&2; exit 7");
    let error = plugin.run().await.expect_err("failed").to_string();
    assert!(error.contains("exit status: 7") && error.ends_with("not logged in"), "{error}");
    plugin.command = folder.path().join("none");
    let error = plugin.run().await.expect_err("missing").to_string();
    assert!(error.ends_with("get it somewhere"), "{error}");
}

#[tokio::test]
async fn a_plugin_that_prints_without_end_is_killed() {
    let (_folder, plugin) = script("exec cat /dev/zero");
    assert!(matches!(plugin.run().await, Err(PluginError::Large { .. })));
    let (_folder, plugin) = script("exec cat /dev/zero >&2");
    assert!(matches!(plugin.run().await, Err(PluginError::Large { .. })));
}

#[tokio::test]
async fn a_plugin_that_hangs_is_killed_with_all_that_it_started() {
    let (folder, plugin) = script("sleep 1000 & echo $! > \"$0.child\"; wait");
    let child = folder.path().join("plugin.child");
    let mut run = std::pin::pin!(plugin.run());
    // The real clock goes until the plugin has started its child, and a paused one from then on.
    let pid = soon(async {
        loop {
            assert!(futures::poll!(&mut run).is_pending(), "it hangs");
            let text = fs::read_to_string(&child).unwrap_or_default();
            match text.trim_end().parse::<i32>() {
                Ok(pid) if text.ends_with('\n') => break pid,
                _ => tokio::task::yield_now().await,
            }
        }
    })
    .await;
    tokio::time::pause();
    assert!(matches!(run.await, Err(PluginError::Slow { .. })));
    // Killed means gone, or a zombie until its parent checks.
    let stat = |pid: i32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    tokio::time::resume();
    soon(async {
        while !stat(pid).is_empty() && !stat(pid).contains(") Z ") {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[test]
fn answers_are_read_strictly() {
    let cases = [
        ("", "output must be an ExecCredential (line 1, column 0)"),
        ("token", "output must be an ExecCredential (line 1, column 2)"),
        (r#"{"kind":"Secret","apiVersion":"v1"}"#, "kind must be ExecCredential, found \"Secret\""),
        (
            r#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"a"}}"#,
            "apiVersion must be \"client.authentication.k8s.io/v1\", found \"client.authentication.k8s.io/v1beta1\"",
        ),
        (&format!("{{{HEAD}}}"), "output has no status"),
        (&format!("{{{HEAD},\"status\":{{}}}}"), "output has neither a token nor a certificate"),
        (
            &format!("{{{HEAD},\"status\":{{\"token\":\"a\",\"clientKeyData\":\"k\"}}}}"),
            "clientCertificateData and clientKeyData must be set together",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read_answer(text.as_bytes(), PluginVersion::V1).expect_err("refused"), expected, "{text}");
    }
    let both = format!("{{{HEAD},\"status\":{{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}}}}");
    let credential = read_answer(both.as_bytes(), PluginVersion::V1).expect("a credential");
    assert_eq!(credential.certificate.expect("a pair").0, "c");
    assert!(credential.token.is_none() && credential.expires.is_none());
}
