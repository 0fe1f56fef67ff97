//! Proxies on the way to the API server: which one there is, and how it is asked for a connection.

use std::fmt;
use std::future::{Ready, ready};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tower::Service;
use witlet_core::network::host_port;

use super::dial::{self, Stream};

mod socks;
#[cfg(test)]
pub(super) mod tests;

/// What the environment says of proxies, by the names that Go's programs read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) https_proxy: String,
    pub(crate) http_proxy: String,
    pub(crate) no_proxy: String,
}

impl Environment {
    /// That of this process.
    pub(crate) fn of_process() -> Self {
        let first = |names: [&str; 2]| {
            let values = names.into_iter().filter_map(|name| std::env::var(name).ok());
            values.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self {
            https_proxy: first(["HTTPS_PROXY", "https_proxy"]),
            http_proxy: first(["HTTP_PROXY", "http_proxy"]),
            no_proxy: first(["NO_PROXY", "no_proxy"]),
        }
    }
}

/// The proxy for this server: the one that its kubeconfig names (`proxy-url`), else the environment's.
///
/// # Errors
/// What is wrong with the proxy's address. It doesn't name the address, which may have a password in it.
pub(crate) fn choose(
    server: &Uri,
    named: Option<&str>,
    environment: &Environment,
) -> Result<Option<Proxy>, String> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let scheme = named.split_once("://").map_or("", |(scheme, _)| scheme);
        if !["http", "https", "socks5"].contains(&scheme) {
            return Err(format!("unsupported scheme {scheme:?}, must be http, https, or socks5"));
        }
        return Proxy::parse(named).map(Some);
    }
    let is_secure = server.scheme_str() == Some("https");
    let (variable, address) = match is_secure {
        true => ("HTTPS_PROXY", &environment.https_proxy),
        false => ("HTTP_PROXY", &environment.http_proxy),
    };
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = server.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    if address.is_empty() || !is_proxied(&environment.no_proxy, host, port) {
        return Ok(None);
    }
    Proxy::parse(address).map(Some).map_err(|message| format!("{variable}: {message}"))
}

/// Whether connections to a host take the environment's proxy: never to this machine itself, and not where `NO_PROXY` names the
/// host. It names addresses, networks, domains with all below (`example.com`), all below a domain (`.example.com`,
/// `*.example.com`), each but networks perhaps with a port; `*` is everything.
fn is_proxied(no_proxy: &str, host: &str, port: u16) -> bool {
    let host = host.to_ascii_lowercase();
    let ip: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return false;
    }
    !no_proxy.split(',').any(|entry| names(&entry.trim().to_ascii_lowercase(), &host, ip, port))
}

fn names(entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return ip.is_some_and(|ip| network.contains(&ip));
    }
    let bare = |text: &str| text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let (name, only) = match entry.rsplit_once(':') {
        // An address of version 6 has colons of its own.
        Some(_) if entry.parse::<IpAddr>().is_ok() => (entry, None),
        Some((name, only)) => (name, Some(only)),
        None => (entry, None),
    };
    if name.is_empty() || only.is_some_and(|only| only.parse() != Ok(port)) {
        return false;
    }
    if let Some(address) = bare(name) {
        return ip == Some(address);
    }
    let domain = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match domain.strip_prefix('.') {
        Some(_) => host.ends_with(domain),
        None => host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
    }
}

/// A proxy that is asked for connections: with CONNECT, in the clear or over TLS, or by SOCKS 5.
#[derive(Clone)]
pub(crate) struct Proxy {
    /// Address and credentials, as the library reads them.
    at: Intercept,
    scheme: Scheme,
    host: String,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    Socks5,
}

/// Without credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Socks5 => "socks5",
        };
        write!(f, "{scheme}://{}", host_port(&self.host, self.port))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Proxy {
    /// An address, with credentials perhaps; without a scheme it is `http`.
    fn parse(address: &str) -> Result<Self, String> {
        let found = Matcher::builder().all(address.to_owned()).build();
        let found = found.intercept(&Uri::from_static("https://api"));
        let at = found.ok_or("the proxy URL is not usable")?;
        let (scheme, port) = match at.uri().scheme_str() {
            Some("http") => (Scheme::Http, 80),
            Some("https") => (Scheme::Https, 443),
            Some("socks5" | "socks5h") => (Scheme::Socks5, 1080),
            other => return Err(format!("unsupported proxy scheme {:?}", other.unwrap_or_default())),
        };
        let host = at.uri().host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("the proxy URL has no host".to_owned());
        }
        let (host, port) = (host.to_owned(), at.uri().port_u16().unwrap_or(port));
        Ok(Self { at, scheme, host, port })
    }

    /// A connection through the proxy. `tls` is what a proxy over TLS is trusted by: the server's own authorities, as
    /// client-go has it.
    pub(super) async fn connect(
        &self,
        host: &str,
        port: u16,
        tls: Option<&ClientConfig>,
    ) -> io::Result<Box<dyn Stream>> {
        let near = self.reach(tls).await;
        let mut near =
            near.map_err(|cause| io::Error::new(cause.kind(), format!("proxy {self}: {cause}")))?;
        let address = self.at.uri().clone();
        match self.scheme {
            Scheme::Http | Scheme::Https => {
                let far = format!("https://{}/", host_port(host, port)).parse();
                let far: Uri = far.map_err(io::Error::other)?;
                let mut tunnel = Tunnel::new(address, ProxyConnector(Some(near)));
                if let Some(credentials) = self.at.basic_auth() {
                    tunnel = tunnel.with_auth(credentials.clone());
                }
                let stream = tunnel.call(far).await.map_err(|error| self.refused(&error))?;
                Ok(stream.into_inner())
            }
            Scheme::Socks5 => {
                let asked = socks::connect(&mut near, host, port, self.at.raw_auth()).await;
                asked.map_err(|error| self.refused(&error))?;
                Ok(near)
            }
        }
    }

    fn refused(&self, error: &dyn fmt::Display) -> io::Error {
        io::Error::other(format!("proxy {self}: {error}"))
    }

    /// A connection to the proxy itself.
    async fn reach(&self, tls: Option<&ClientConfig>) -> io::Result<Box<dyn Stream>> {
        let tcp = dial::tcp(&self.host, self.port).await?;
        if self.scheme != Scheme::Https {
            return Ok(Box::new(tcp));
        }
        let Some(tls) = tls else {
            return Err(io::Error::other("a proxy over TLS requires an API server over TLS"));
        };
        let mut config = tls.clone();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, tcp).await?))
    }
}

/// The connection to the proxy, where the library asks for one. It asks once.
struct ProxyConnector(Option<Box<dyn Stream>>);

impl Service<Uri> for ProxyConnector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(self.0.take().map(TokioIo::new).ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}
