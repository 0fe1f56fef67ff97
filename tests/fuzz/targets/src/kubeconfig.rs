//! Kubeconfig files: `host/cluster`.

use std::path::Path;

use witlet_cluster::kubeconfig::{kubeconfig_of, parse};

use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "kubeconfig",
    run,
    words: &[
        "apiVersion: v1\n",
        "kind: Config\n",
        "current-context: ",
        "contexts:\n",
        "clusters:\n",
        "users:\n",
        "- name: ",
        "context:\n",
        "cluster: ",
        "user: ",
        "namespace: ",
        "server: https://127.0.0.1:6443",
        "server: ",
        "http://",
        "https://[::1]:6443/a?b#c",
        "certificate-authority-data: YQ==",
        "certificate-authority: ca.crt",
        "insecure-skip-tls-verify: true",
        "tls-server-name: a",
        "proxy-url: http://a:1",
        "socks5://",
        "client-certificate: a",
        "client-key: a",
        "client-certificate-data: YQ==",
        "client-key-data: YQ==",
        "token: a",
        "tokenFile: a",
        "username: a",
        "password: a",
        "exec:\n",
        "command: a",
        "apiVersion: client.authentication.k8s.io/v1",
        "args: [a]",
        "env:\n",
        "provideClusterInfo: true",
        "interactiveMode: Always",
        "auth-provider:\n",
        "as: a",
        "extensions:\n",
        "%40",
        "@",
    ],
};

fn run(data: &[u8]) {
    let path = Path::new("/nowhere/kubeconfig");
    let target = match parse(path, data.to_vec()) {
        Ok(target) => target,
        // What is wrong is shown as it stands: the file is root's, and is read once.
        Err(error) => return check_message(&error.to_string(), 4 * data.len()),
    };
    let again = parse(path, data.to_vec()).expect("the same bytes are the same kubeconfig");
    assert_eq!(format!("{target:?}"), format!("{again:?}"));
    // What a bootstrap writes of it leads to the same server.
    let pem = Path::new("/nowhere/kubelet.pem");
    let written = kubeconfig_of(&target, pem).expect("a target becomes a kubeconfig");
    let read = parse(path, written.clone().into_bytes())
        .unwrap_or_else(|error| panic!("{error} in what was written:\n{written}"));
    let rewritten = kubeconfig_of(&read, pem).expect("a target becomes a kubeconfig");
    assert_eq!(written, rewritten);
}
