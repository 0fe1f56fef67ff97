//! A registry on the loopback of a test's containerd: an open one, and one with a password over the same images.
//!
//! It is Debian's `docker-registry`, as two processes of the test's own. Images get in by the HTTP API that every
//! registry has (OCI distribution specification).

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::runtime::ImageAuth;

use crate::WAIT_TIMEOUT;
use crate::containerd::Containerd;
use crate::image::{Blob, ImageBlobs};
use crate::shell::{HarnessError, find_program, io};

/// The Debian package and the program in it.
pub const REGISTRY_PROGRAM: &str = "docker-registry";

/// The network is the test's own, so every test has the same ports.
const OPEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);
const PRIVATE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5001);

/// Where images are, in both.
const REPOSITORY: &str = "team/app";
const TAG: &str = "1";
/// Of an image with another content.
const REMOVABLE_TAG: &str = "removable";

const USER: &str = "ann";
const PASSWORD: &str = "let me in";
/// `USER` and the bcrypt of `PASSWORD`, the only kind that the registry takes.
const HTPASSWD: &str = "ann:$2b$05$witlettestregistrysaleaxXRxqXIAYCVy1gch707u8XpkyC1HVe\n";

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long it may take to accept, and between two bytes.
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer.
const HTTP_BYTES_MAX: u64 = 1024 * 1024;

/// Both registries, with two images. They end when this is dropped, which must be before their containerd.
#[derive(Debug)]
pub struct Registry {
    processes: Vec<Child>,
    logs: PathBuf,
    digest: String,
}

impl Registry {
    /// Whether the program is installed.
    pub fn is_installed() -> bool {
        find_program(REGISTRY_PROGRAM).is_some()
    }

    /// Starts both next to this containerd, which must have been started by the harness, and brings the image in.
    pub async fn start(containerd: &Containerd) -> Result<Self, HarnessError> {
        let folder = containerd.folder().join("registry");
        fs::create_dir_all(&folder).map_err(io("make the registry's folder"))?;
        fs::write(folder.join("htpasswd"), HTPASSWD).map_err(io("write the registry's passwords"))?;
        let image = ImageBlobs::make(&containerd.folder().join("work"), "from the registry")?;
        let digest = image.manifest.digest.clone();
        let mut registry = Self { processes: Vec::new(), logs: folder.clone(), digest };
        for (name, address, passwords) in [("open", OPEN, None), ("private", PRIVATE, Some("htpasswd"))] {
            let config = config(&folder, address, passwords.map(|file| folder.join(file)));
            let path = folder.join(format!("{name}.json"));
            fs::write(&path, config).map_err(io("write the registry's configuration"))?;
            let log =
                File::create(folder.join(format!("{name}.log"))).map_err(io("open the registry's log"))?;
            let mut command = containerd.command(REGISTRY_PROGRAM);
            command
                .args(["serve".as_ref(), path.as_os_str()])
                .stdout(log.try_clone().map_err(io("share the registry's log"))?)
                .stderr(log);
            registry.processes.push(command.spawn().map_err(io("start the registry"))?);
        }
        registry.wait_until_up(containerd).await?;
        push(containerd, &image, TAG)?;
        let removable = ImageBlobs::make(&containerd.folder().join("work"), "to be removed")?;
        push(containerd, &removable, REMOVABLE_TAG)?;
        Ok(registry)
    }

    /// Brings in an image with so many bytes of its own, which is pulled without credentials; gives its name.
    pub fn add_large_image(
        &self,
        containerd: &Containerd,
        tag: &str,
        bytes: usize,
    ) -> Result<String, HarnessError> {
        push(containerd, &ImageBlobs::make_large(&containerd.folder().join("work"), tag, bytes)?, tag)?;
        Ok(format!("{OPEN}/{REPOSITORY}:{tag}"))
    }

    /// An image that is pulled without credentials.
    pub fn open_image(&self) -> String {
        format!("{OPEN}/{REPOSITORY}:{TAG}")
    }

    /// The same, by its content.
    pub fn open_image_by_digest(&self) -> String {
        format!("{OPEN}/{REPOSITORY}@{}", self.digest)
    }

    /// The same, for those who have [`Registry::auth`].
    pub fn private_image(&self) -> String {
        format!("{PRIVATE}/{REPOSITORY}:{TAG}")
    }

    /// An image that is pulled without credentials, with a content of its own.
    pub fn removable_image(&self) -> String {
        format!("{OPEN}/{REPOSITORY}:{REMOVABLE_TAG}")
    }

    /// Isn't there, not even for those who have [`Registry::auth`].
    pub fn absent_image(&self) -> String {
        format!("{PRIVATE}/{REPOSITORY}:no-such-tag")
    }

    /// Credentials of the private one.
    pub fn auth(&self) -> ImageAuth {
        ImageAuth { username: USER.to_owned(), password: PASSWORD.to_owned(), ..ImageAuth::default() }
    }

    /// A docker configuration with them, as a node has it.
    pub fn docker_config(&self) -> String {
        let entry = serde_json::json!({ "username": USER, "password": PASSWORD });
        serde_json::json!({ "auths": { PRIVATE.to_string(): entry } }).to_string()
    }

    async fn wait_until_up(&mut self, containerd: &Containerd) -> Result<(), HarnessError> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        for (address, expected) in [(OPEN, 200), (PRIVATE, 401)] {
            loop {
                let last = match ask(containerd, address, "GET", "/v2/", "text/plain", &[]) {
                    Ok(answer) if answer.status == expected => break,
                    Ok(answer) => format!("{address} answers {}", answer.status),
                    Err(error) => crate::suite::report(&error),
                };
                let mut ended = false;
                for process in &mut self.processes {
                    ended |= process.try_wait().map_err(io("check the registry"))?.is_some();
                }
                if ended || Instant::now() >= deadline {
                    let logs = ["open.log", "private.log"]
                        .map(|name| fs::read_to_string(self.logs.join(name)).unwrap_or_default());
                    let last = format!("{last}\n{}", logs.concat());
                    let (what, seconds) = ("the registry's start".to_owned(), WAIT_TIMEOUT.as_secs());
                    return Err(HarnessError::Late { what, seconds, last });
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

/// JSON is YAML too.
fn config(folder: &Path, address: SocketAddr, passwords: Option<PathBuf>) -> String {
    let mut config = serde_json::json!({
        "version": 0.1,
        "log": { "level": "warn", "accesslog": { "disabled": true } },
        "storage": { "filesystem": { "rootdirectory": folder.join("images") } },
        "http": { "addr": address.to_string(), "secret": "of no use outside of this test" },
    });
    if let Some(path) = passwords {
        config["auth"] = serde_json::json!({ "htpasswd": { "realm": "witlet", "path": path } });
    }
    config.to_string()
}

/// Brings an image into the open registry.
fn push(containerd: &Containerd, image: &ImageBlobs, tag: &str) -> Result<(), HarnessError> {
    for blob in image.layers.iter().chain([&image.config]) {
        push_blob(containerd, blob)?;
    }
    let path = format!("/v2/{REPOSITORY}/manifests/{tag}");
    expect(201, ask(containerd, OPEN, "PUT", &path, &image.media_type, &image.manifest.read()?)?).map(drop)
}

fn push_blob(containerd: &Containerd, blob: &Blob) -> Result<(), HarnessError> {
    let path = format!("/v2/{REPOSITORY}/blobs/uploads/");
    let begun = expect(202, ask(containerd, OPEN, "POST", &path, "application/octet-stream", &[])?)?;
    let place = begun.location.ok_or_else(|| HarnessError::Answer("an upload has no place".to_owned()))?;
    // The place is absolute, and has a query already.
    let place = place.strip_prefix(&format!("http://{OPEN}")).unwrap_or(&place).to_owned();
    let joint = if place.contains('?') { '&' } else { '?' };
    let path = format!("{place}{joint}digest={}", blob.digest);
    expect(201, ask(containerd, OPEN, "PUT", &path, "application/octet-stream", &blob.read()?)?).map(drop)
}

struct HttpReply {
    status: u16,
    location: Option<String>,
    text: String,
}

fn expect(status: u16, answer: HttpReply) -> Result<HttpReply, HarnessError> {
    if answer.status == status {
        return Ok(answer);
    }
    Err(HarnessError::Answer(format!("the registry answered {}: {}", answer.status, answer.text)))
}

/// One request over a connection of its own, from where the registry can be reached.
fn ask(
    containerd: &Containerd,
    address: SocketAddr,
    method: &str,
    path: &str,
    media_type: &str,
    body: &[u8],
) -> Result<HttpReply, HarnessError> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let text = containerd.in_network(|| {
        let mut stream = TcpStream::connect_timeout(&address, HTTP_TIMEOUT)?;
        stream.set_read_timeout(Some(HTTP_TIMEOUT))?;
        stream.set_write_timeout(Some(HTTP_TIMEOUT))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.take(HTTP_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    })?;
    let text = text.map_err(io(format!("{method} http://{address}{path}")))?;
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status =
        status.ok_or_else(|| HarnessError::Answer(format!("{method} {path}: no HTTP, but {text:?}")))?;
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Ok(HttpReply { status, location, text })
}
