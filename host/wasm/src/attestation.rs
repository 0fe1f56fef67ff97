//! Signed conformance reports: what the kit found about a component, in a form that a host can demand.
//!
//! A report is an in-toto Statement (v1) about the component's SHA-256, in a DSSE envelope (v1), signed with Ed25519
//! (RFC 8032). Keys are the PEM files that `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write. No IO, and
//! no clock: the time is part of what is signed.
//!
//! ```
//! use witlet_wasm::attestation::{Requirements, SigningKey, verify};
//! # use witlet_wasm::attestation::{Conformance, Statement, Tested};
//! # fn examined() -> Conformance {
//! #     Conformance {
//! #         kit_version: "0.1.0".to_owned(),
//! #         roles: vec![Tested { role: "admission".to_owned(), version: "0.1.0".to_owned() }],
//! #         config_digest: "0".repeat(64),
//! #         passed: true,
//! #         checks: witlet_wasm::attestation::LAYERS.map(|layer| (layer.to_owned(), Default::default())).into(),
//! #         seed: 7,
//! #         time: "2026-01-01T00:00:00Z".parse().expect("a time"),
//! #     }
//! # }
//! # let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
//! let key = SigningKey::from_pem(pem.as_bytes())?;
//! let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
//! let envelope = Statement::new("no-latest-tag.wasm", digest, examined()).sign(&key);
//!
//! let demanded = Requirements { digest, roles: &["admission"], kit_version: None, failed_too: false };
//! let accepted = verify(&envelope, &[key.public()], &demanded)?;
//! assert_eq!(accepted.key_id, key.public().id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod cosign;
mod envelope;
mod key;
mod pem;
mod statement;
mod verify;

pub use envelope::{ENVELOPE_BYTES_MAX, PAYLOAD_TYPE, SIGNATURES_MAX};
pub use key::{KEY_BYTES_MAX, KeyError, PublicKey, SigningKey};
pub use statement::{Checks, Conformance, LAYERS, PREDICATE_TYPE, STATEMENT_TYPE, Statement, Tested};
pub use verify::{Accepted, Requirements, VerifyError, subjects, verify};
