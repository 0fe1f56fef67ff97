//! What stands around a plugin, as a case file writes it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, de};

use super::Problem;
use crate::scene::{Behaviour, Content, ExecAnswer, ExecEnd, HttpAnswer, Protocol, ServerScript, Turn};

/// Bytes: text, `{hex: "00 ff"}`, `{base64: "AP8="}` or `{repeat: ["x", 1000]}`.
#[derive(Clone, Default)]
pub(super) struct BytesDocument(pub(super) Vec<u8>);

#[derive(Deserialize)]
#[serde(untagged)]
enum BytesForm {
    Text(String),
    Coded(CodedBytes),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum CodedBytes {
    Hex(String),
    Base64(String),
    /// A text so often: for inputs that are large.
    Repeat(String, usize),
}

/// How large bytes may be that are written as a text and a number.
const REPEATED_BYTES_MAX: usize = 16 << 20;

impl<'de> Deserialize<'de> for BytesDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match BytesForm::deserialize(deserializer)? {
            BytesForm::Text(text) => Ok(Self(text.into_bytes())),
            BytesForm::Coded(coded) => coded.bytes().map(Self).map_err(de::Error::custom),
        }
    }
}

impl CodedBytes {
    fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Hex(text) => hex(&text).ok_or_else(|| format!("{text:?} isn't hexadecimal")),
            Self::Base64(text) => STANDARD.decode(&text).map_err(|error| format!("{text:?}: {error}")),
            Self::Repeat(text, times) if text.len().saturating_mul(times) <= REPEATED_BYTES_MAX => {
                Ok(text.repeat(times).into_bytes())
            }
            Self::Repeat(..) => Err(format!("more than {REPEATED_BYTES_MAX} bytes")),
        }
    }
}

/// Pairs of digits, with spaces where one likes.
fn hex(text: &str) -> Option<Vec<u8>> {
    let letters = text.chars().filter(|letter| *letter != ' ');
    let digits: Vec<u32> = letters.map(|letter| letter.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    pairs.collect()
}

/// One of `servers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ServerDocument {
    port: u16,
    #[serde(default)]
    protocol: ProtocolDocument,
    behaviour: Option<BehaviourDocument>,
    dialog: Option<Vec<TurnDocument>>,
    http: Option<Vec<HttpDocument>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
enum ProtocolDocument {
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "UDP")]
    Udp,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BehaviourDocument {
    Refuse,
    Silent,
    Reset,
    Close,
    Garbage,
    Endless,
    Drip,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TurnDocument {
    #[serde(default)]
    receive: BytesDocument,
    #[serde(default)]
    until: BytesDocument,
    #[serde(default)]
    send: BytesDocument,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HttpDocument {
    path: String,
    #[serde(default)]
    request_headers: BTreeMap<String, String>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: BytesDocument,
}

pub(super) fn servers(documents: Vec<ServerDocument>) -> Result<Vec<ServerScript>, Problem> {
    let servers = documents.into_iter().enumerate();
    servers
        .map(|(index, document)| {
            document.take().map_err(|problem| problem.within(&format!("servers[{index}]")))
        })
        .collect()
}

impl ServerDocument {
    fn take(self) -> Result<ServerScript, Problem> {
        use BehaviourDocument as Word;
        let Self { port, protocol, behaviour, dialog, http } = self;
        let turns = |turns: Vec<TurnDocument>| turns.into_iter().map(TurnDocument::take).collect();
        let behaviour = match (behaviour, dialog, http) {
            (None, Some(dialog), None) => Behaviour::Dialog(turns(dialog)),
            (None, None, Some(http)) => Behaviour::Http(http.into_iter().map(HttpDocument::take).collect()),
            (Some(Word::Drip), Some(dialog), None) => Behaviour::Drip(turns(dialog)),
            (Some(Word::Drip), None, _) => {
                return Problem::new("dialog", "missing: what is it that drips?");
            }
            (Some(Word::Refuse), None, None) => Behaviour::Refuse,
            (Some(Word::Silent), None, None) => Behaviour::Silent,
            (Some(Word::Reset), None, None) => Behaviour::Reset,
            (Some(Word::Close), None, None) => Behaviour::Close,
            (Some(Word::Garbage), None, None) => Behaviour::Garbage,
            (Some(Word::Endless), None, None) => Behaviour::Endless,
            (Some(_), ..) | (None, Some(_), Some(_)) | (None, None, None) => {
                return Problem::new("behaviour", "a server has one of `behaviour`, `dialog` and `http`");
            }
        };
        let protocol = match protocol {
            ProtocolDocument::Tcp => Protocol::Tcp,
            ProtocolDocument::Udp => Protocol::Udp,
        };
        Ok(ServerScript { port, protocol, behaviour })
    }
}

impl TurnDocument {
    fn take(self) -> Turn {
        let Self { receive, until, send } = self;
        Turn { receive: receive.0, until: until.0, send: send.0 }
    }
}

impl HttpDocument {
    fn take(self) -> HttpAnswer {
        let Self { path, request_headers, status, headers, body } = self;
        let line = |(name, value): (String, String)| format!("{name}: {value}");
        HttpAnswer {
            path,
            request_headers: request_headers.into_iter().map(line).collect(),
            status: status.unwrap_or(200),
            headers: headers.into_iter().collect(),
            body: body.0,
        }
    }
}

/// One of `execs`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ExecDocument {
    command: Vec<String>,
    exit_code: Option<i32>,
    #[serde(default)]
    output: BytesDocument,
    #[serde(default)]
    timed_out: bool,
    failed: Option<String>,
}

impl ExecDocument {
    pub(super) fn take(self) -> Result<ExecAnswer, Problem> {
        let Self { command, exit_code, output, timed_out, failed } = self;
        let end = match (exit_code, timed_out, failed) {
            (code, false, None) => ExecEnd::Exit { code: code.unwrap_or(0), output: output.0 },
            (None, true, None) => ExecEnd::TimedOut,
            (None, false, Some(words)) => ExecEnd::Failed(words),
            (Some(_), ..) | (None, true, Some(_)) => {
                let problem = "a command ends in one way: `exitCode` and `output`, `timedOut`, or `failed`";
                return Problem::new("execs", problem);
            }
        };
        Ok(ExecAnswer { command, end })
    }
}

/// What stands under a name of a folder: bytes of a file, `{link: TARGET}`, or `{folder: {…}}`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ContentDocument {
    Special(SpecialContent),
    File(BytesDocument),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) enum SpecialContent {
    Link(String),
    Folder(BTreeMap<String, ContentDocument>),
}

pub(super) fn folder(
    documents: BTreeMap<String, ContentDocument>,
) -> Result<BTreeMap<String, Content>, Problem> {
    let content = |name: &str, document: ContentDocument| match document {
        ContentDocument::File(bytes) => Ok(Content::File(bytes.0)),
        ContentDocument::Special(SpecialContent::Link(target)) => Ok(Content::Link(target)),
        ContentDocument::Special(SpecialContent::Folder(inner)) => {
            Ok(Content::Folder(folder(inner).map_err(|problem| problem.within(name))?))
        }
    };
    documents
        .into_iter()
        .map(|(name, document)| {
            if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
                return Problem::new(name, "isn't the path of a file within the folder");
            }
            let content = content(&name, document)?;
            Ok((name, content))
        })
        .collect()
}
