//! Each condition alone keeps compiled code from being used.

use super::*;

const COMPONENT: &str = "sha256:c0";
const OTHER: &str = "sha256:c1";
const DIGEST: &str = "sha256:d0";
const KEY: &str = "key-1";

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn target(engine: &str) -> CodeTarget {
    CodeTarget {
        engine: engine.to_owned(),
        compatibility: format!("hash of {engine}"),
        architecture: "x86_64".to_owned(),
        cpu_features: texts(&["avx2", "sse4.2"]),
    }
}

fn offer() -> CodeOffer {
    CodeOffer {
        component: COMPONENT.to_owned(),
        target: target("synchronous"),
        digest: DIGEST.to_owned(),
        size: 7,
    }
}

type Change = fn(&mut Facts);

/// Everything that a decision is made of.
struct Facts {
    is_allowed: bool,
    signed_by: Option<&'static str>,
    keys: Vec<String>,
    offer: CodeOffer,
    components: Vec<String>,
    engines: Vec<CodeTarget>,
    found: Option<&'static str>,
}

impl Facts {
    /// Facts by which code is used.
    fn good() -> Self {
        Self {
            is_allowed: true,
            signed_by: Some(KEY),
            keys: texts(&["key-0", KEY]),
            offer: offer(),
            components: texts(&[OTHER, COMPONENT]),
            engines: vec![target("asynchronous"), target("synchronous")],
            found: Some(DIGEST),
        }
    }

    fn trust(&self) -> CodeTrust<'_> {
        CodeTrust { is_allowed: self.is_allowed, signed_by: self.signed_by, keys: &self.keys }
    }

    fn place(&self) -> CodeUse<'_> {
        CodeUse { components: &self.components, engines: &self.engines }
    }

    fn judge(&self) -> Result<(), CodeRefusal> {
        judge(self.trust(), &self.offer, self.place(), self.found)
    }
}

#[test]
fn code_is_used_only_if_each_condition_is_met() {
    assert_eq!(Facts::good().judge(), Ok(()));
    assert_eq!(Facts { found: None, ..Facts::good() }.judge(), Ok(()), "before it is brought");
    // What is changed, the change, and the words of the refusal.
    let table: [(&str, Change, &str); 13] = [
        (
            "the operator doesn't allow it",
            |facts| facts.is_allowed = false,
            "doesn't have compiledCode: Signed",
        ),
        ("no one has signed the set", |facts| facts.signed_by = None, "no key of the policy"),
        ("another key has", |facts| facts.signed_by = Some("key-2"), "no key of the policy"),
        ("no key counts", |facts| facts.keys.clear(), "no key of the policy"),
        (
            "another component",
            |facts| facts.offer.component = "sha256:c2".to_owned(),
            "of the component sha256:c2, which the set doesn't have",
        ),
        ("a set without components", |facts| facts.components.clear(), "which the set doesn't have"),
        (
            "an unknown engine",
            |facts| facts.offer.target.engine = "pulley".to_owned(),
            "for an engine \"pulley\"",
        ),
        (
            "another architecture",
            |facts| facts.offer.target.architecture = "aarch64".to_owned(),
            "it is for aarch64, and this node is x86_64",
        ),
        (
            "a processor that can more",
            |facts| facts.offer.target.cpu_features.push("avx512f".to_owned()),
            "another processor: this node lacks avx512f",
        ),
        (
            "a processor that can other things",
            |facts| facts.offer.target.cpu_features[0] = "fma".to_owned(),
            "another processor: this node lacks fma; only this node has avx2",
        ),
        (
            "another version of the engine",
            |facts| facts.offer.target.compatibility = "hash of asynchronous".to_owned(),
            "another version of the engine",
        ),
        ("other bytes", |facts| facts.found = Some("sha256:d1"), "have the digest sha256:d1"),
        (
            "a digest that the manifest doesn't have",
            |facts| facts.offer.digest = "sha256:d1".to_owned(),
            "the set's manifest has sha256:d1",
        ),
    ];
    for (what, change, words) in table {
        let mut facts = Facts::good();
        change(&mut facts);
        let refusal = facts.judge().expect_err(what).to_string();
        assert!(refusal.contains(words), "{what}: {refusal}");
    }
}

#[test]
fn the_first_condition_that_is_not_met_is_said() {
    let mut facts = Facts::good();
    facts.found = Some("sha256:d1");
    // Each change stands before all that were made already.
    let changes: [Change; 6] = [
        |facts| facts.offer.target.compatibility = "another".to_owned(),
        |facts| facts.offer.target.cpu_features.clear(),
        |facts| facts.offer.target.architecture = "riscv64".to_owned(),
        |facts| facts.offer.component = "sha256:c2".to_owned(),
        |facts| facts.signed_by = None,
        |facts| facts.is_allowed = false,
    ];
    let mut met = facts.judge().expect_err("other bytes").conditions_met();
    for (at, change) in changes.into_iter().enumerate() {
        change(&mut facts);
        let now = facts.judge().expect_err("worse").conditions_met();
        assert!(now < met, "change {at}: {now} conditions, {met} before");
        met = now;
    }
    assert_eq!(met, 0);
}

#[test]
fn of_code_for_several_processors_the_one_that_fits_is_chosen_and_else_the_closest_is_named() {
    let facts = Facts::good();
    let other = |change: fn(&mut CodeOffer)| {
        let mut offer = offer();
        change(&mut offer);
        offer
    };
    let arm = other(|offer| offer.target.architecture = "aarch64".to_owned());
    let bigger = other(|offer| offer.target.cpu_features.push("avx512f".to_owned()));
    let older = other(|offer| offer.target.compatibility = "older".to_owned());
    let choose = |offers: &[CodeOffer]| {
        let parts = choose(facts.trust(), offers, facts.place());
        let [CodePart { component, engine, outcome }] = parts.as_slice() else { panic!("{parts:?}") };
        assert_eq!((&**component, &**engine), (COMPONENT, "synchronous"));
        outcome.clone()
    };
    for offers in [[arm.clone(), offer(), older.clone()], [offer(), older.clone(), bigger.clone()]] {
        assert_eq!(choose(&offers), Ok(offer()));
    }
    for offers in [[arm.clone(), bigger.clone(), older.clone()], [older.clone(), bigger.clone(), arm.clone()]]
    {
        assert_eq!(choose(&offers), Err(CodeRefusal::OtherEngine));
    }
    assert!(matches!(choose(&[arm, bigger]), Err(CodeRefusal::OtherProcessor { .. })));
}

#[test]
fn a_component_counts_once_for_each_engine() {
    let facts = Facts::good();
    let asynchronous = CodeOffer { target: target("asynchronous"), ..offer() };
    let foreign = CodeOffer { component: "sha256:c2".to_owned(), ..offer() };
    let offers = [offer(), asynchronous, foreign];
    let parts = choose(facts.trust(), &offers, facts.place());
    let outcomes: Vec<_> = parts.iter().map(|part| part.outcome.as_ref().map(drop)).collect();
    let report = CodeReport::of(&offers, outcomes).expect("it has code");
    let message = Some("it is of the component sha256:c2, which the set doesn't have".to_owned());
    let architectures = texts(&["x86_64"]);
    assert_eq!(report, CodeReport { used: 2, unused: 1, message, architectures });
    assert_eq!(CodeReport::of(&[], []), None);
    let off = Facts { is_allowed: false, ..Facts::good() };
    assert!(
        choose(off.trust(), &offers, off.place()).iter().all(|part| part.outcome == Err(CodeRefusal::Off))
    );
}
