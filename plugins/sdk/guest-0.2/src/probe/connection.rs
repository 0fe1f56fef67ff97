//! Connections that the host opens: TLS on any protocol, and the loopback interface of the probed pod.

#[cfg(target_family = "wasm")]
use super::bindings::witlet::probe::connections as backend;
#[cfg(not(target_family = "wasm"))]
use super::facts::connection as backend;
use crate::Error;

/// A connection that the host opened for the probe. No call waits longer than the probe has time, and the connection is valid during the
/// probe only. In unit tests it is a real one of the developer's machine, and there is no TLS.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::TargetFacts;
/// let server = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let port = server.local_addr()?.port();
/// let serving = std::thread::spawn(move || std::io::Write::write_all(&mut server.accept()?.0, b"hello"));
/// let facts = TargetFacts::of(&json!({"metadata": {"name": "web"}}));
/// let connection = facts.target().open_loopback(port).expect("it listens");
/// assert_eq!(connection.read(100).expect("it greets"), b"hello");
/// assert_eq!(connection.read(100).expect("it ends"), b"");
/// # serving.join().expect("it ends")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Connection(pub(super) backend::Connection);

impl Connection {
    /// Makes TLS of it. `server_name` is whom the server's certificate must be for: a name or an address.
    ///
    /// # Errors
    /// With the code `CertificateInvalid`, `TlsFailed`, `TimedOut`, …: then the connection is closed.
    pub fn start_tls(&self, server_name: &str) -> Result<(), Error> {
        self.0.start_tls(server_name)?;
        Ok(())
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// With the code `Reset`, `TimedOut`, …
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write(bytes)?;
        Ok(())
    }

    /// Waits for what comes next: 1 to `length` bytes, at most 64 KiB. None once the other side has ended.
    ///
    /// # Errors
    /// With the code `Reset`, `TimedOut`, …
    pub fn read(&self, length: u64) -> Result<Vec<u8>, Error> {
        let bytes = self.0.read(length)?;
        Ok(bytes)
    }

    /// Says to the other side that nothing more is sent.
    ///
    /// # Errors
    /// With the code `Reset`, `TimedOut`, …
    pub fn shutdown(&self) -> Result<(), Error> {
        self.0.shutdown()?;
        Ok(())
    }

    /// The certificates that the server showed, its own first, in DER. None without TLS.
    pub fn peer_certificates(&self) -> Vec<Vec<u8>> {
        self.0.peer_certificates()
    }
}
