//! What a registry's set leaves in the cache of compiled code. The table of all conditions is core's; here each is met, or not, by what is
//! really there: the policy, the signature, the registry's bytes, this machine's engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use witlet_egress::Egress;
use witlet_harness::LocalRegistry;
use witlet_oci::{
    Client, Login, PLUGIN_FILE, PLUGIN_FILE_TYPE, Registries, RegistriesConfig, SET_COMPONENT_TYPE,
    SetArtifact, SetCode, SetFile, Target,
};
use witlet_wasm::attestation::SigningKey;
use witlet_wasm::attestation::cosign::ArtifactSigningKey;
use witlet_wasm::compile::code_target;
use witlet_wasm::engine::EngineKind;

use super::super::tests::{KEY, PLUGINS};
use super::*;

const COMPONENT: &[u8] = b"a component";
const CODE: &[u8] = b"its code";
const ENGINE: EngineKind = EngineKind::Synchronous;

/// A node with a set on its disk, and the registry that it comes from.
struct World {
    folder: tempfile::TempDir,
    registry: LocalRegistry,
    reference: ComponentReference,
    registries: Registries,
    sets: SetFolder,
    policy: PluginSetPolicy,
    signed_by: Option<String>,
}

/// Code of this set that fits this machine.
fn fitting() -> SetCode {
    let target = code_target(ENGINE).expect("an engine");
    SetCode { component: component_digest(COMPONENT), target, bytes: CODE.into() }
}

fn file(name: &str, media_type: &'static str, bytes: &'static [u8]) -> SetFile {
    SetFile { name: name.to_owned(), media_type, bytes: bytes.into() }
}

impl World {
    async fn new(code: Vec<SetCode>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = LocalRegistry::start().await.expect("a registry");
        let public = SigningKey::from_pem(KEY.as_bytes()).expect("a key").public().to_pem();
        std::fs::write(folder.path().join("a.pub"), public).expect("written");
        let signed_by = ArtifactSigningKey::from_pem(KEY.as_bytes()).expect("a key").public().id();
        let files = vec![
            file(PLUGIN_FILE, PLUGIN_FILE_TYPE, PLUGINS.as_bytes()),
            file("a.wasm", SET_COMPONENT_TYPE, COMPONENT),
        ];
        let created = "2026-01-02T03:04:05Z".parse().expect("a time");
        let set = SetArtifact { files, code, created, annotations: BTreeMap::new() };
        let target: Target = format!("{}/fleet:1", registry.address).parse().expect("a target");
        let client = Client::new(Egress::system(), Login::Anonymous, false);
        let pushed = client.push_set(&target, &set).await.expect("pushed");
        let reference: ComponentReference = target.pinned(&pushed.digest).parse().expect("a reference");
        let registries = Registries::open(RegistriesConfig {
            folder: folder.path().join("components"),
            egress: Egress::system(),
            credentials: None,
            progress: Arc::new(|_progress| {}),
        });
        let registries = registries.expect("opened");
        let sets = SetFolder::open(folder.path().join("sets")).expect("its own");
        let into = sets.begin(&pushed.digest).expect("a folder");
        registries.fetch_set(&reference, None, &into).await.expect("brought");
        sets.finish(&pushed.digest).expect("whole");
        let policy = PluginSetPolicy {
            sets: witlet_core::node::plugin_set::SetPolicy::default(),
            keys: vec![folder.path().join("a.pub")],
            pull_credentials: None,
            uses_compiled_code: true,
        };
        Self { folder, registry, reference, registries, sets, policy, signed_by: Some(signed_by) }
    }

    async fn bring(&self) -> CodeReport {
        self.code(Missing::IsBrought).await.expect("the set has code")
    }

    async fn code(&self, missing: Missing) -> Option<CodeReport> {
        let cache = self.cache();
        let code = CodeOfSets { folder: &self.sets, registries: &self.registries, cache: &cache };
        code.take(&self.reference, &self.policy, self.signed_by.as_deref(), missing).await
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("code")
    }

    /// Whether the cache has code of the set's component.
    fn holds(&self) -> bool {
        let cache = CodeCache::open(self.cache()).expect("its own");
        let origin = cache.origin(ENGINE.name(), &component_digest(COMPONENT)).expect("readable");
        origin == Some(CodeOrigin::Signed)
    }

    /// How often the code was read.
    fn reads(&self) -> usize {
        self.registry.reads(&component_digest(CODE))
    }
}

#[tokio::test]
async fn signed_code_that_fits_comes_into_the_cache_once_and_goes_with_its_key() {
    let world = World::new(vec![fitting()]).await;
    assert!(!world.holds());
    let report = world.bring().await;
    assert_eq!((report.used, report.unused, report.message), (1, 0, None));
    assert_eq!(report.architectures, [std::env::consts::ARCH]);
    assert!(world.holds());
    assert_eq!(world.bring().await.used, 1);
    assert_eq!(world.reads(), 1, "what is there is not brought again");

    let compiler = CompilerConfig::new(world.cache());
    let key = world.signed_by.clone().expect("it is signed");
    forget(compiler.clone(), vec!["another".to_owned(), key]).await;
    assert!(world.holds());
    forget(compiler, vec!["another".to_owned()]).await;
    assert!(!world.holds());
}

#[tokio::test]
async fn code_whose_set_or_node_does_not_allow_it_is_not_even_asked_for() {
    type Change = fn(&mut World);
    let changes: [(Change, &str); 4] = [
        (|world| world.policy.uses_compiled_code = false, "doesn't have compiledCode: Signed"),
        (|world| world.signed_by = None, "no key of the policy"),
        (|world| world.signed_by = Some("another".to_owned()), "no key of the policy"),
        // The file of the key is gone: it doesn't count any more.
        (|world| world.policy.keys = vec!["/nonexistent.pub".into()], "no key of the policy"),
    ];
    for (change, words) in changes {
        let mut world = World::new(vec![fitting()]).await;
        change(&mut world);
        let report = world.bring().await;
        assert_eq!((report.used, report.unused), (0, 1), "{words}");
        let message = report.message.unwrap_or_default();
        assert!(message.contains(words), "{words:?} isn't in: {message}");
        assert!(!world.holds() && world.reads() == 0, "{words}");
    }
}

type Change = fn(&mut SetCode);

#[tokio::test]
async fn code_of_another_component_engine_or_processor_is_not_asked_for() {
    let changes: [(Change, &str); 4] = [
        (|code| code.component = component_digest(b"another"), "which the set doesn't have"),
        (|code| code.target.compatibility = "00".repeat(32), "another version of the engine"),
        (|code| code.target.architecture = "riscv128".to_owned(), "it is for riscv128"),
        (|code| code.target.cpu_features.push("zz".to_owned()), "this node lacks zz"),
    ];
    for (change, words) in changes {
        let mut code = fitting();
        change(&mut code);
        let world = World::new(vec![code]).await;
        let message = world.bring().await.message.unwrap_or_default();
        assert!(message.contains(words), "{words:?} isn't in: {message}");
        assert!(!world.holds() && world.reads() == 0, "{words}");
    }
}

#[tokio::test]
async fn code_that_the_registry_has_no_more_or_in_other_bytes_is_not_used() {
    let world = World::new(vec![fitting()]).await;
    world.registry.spoil(&component_digest(CODE));
    let message = world.bring().await.message.unwrap_or_default();
    assert!(message.contains("compiled code of the set with digest"), "{message}");
    assert!(!world.holds());
    world.registry.lose(&component_digest(CODE));
    let message = world.bring().await.message.unwrap_or_default();
    assert!(message.contains("does not have compiled code of the set"), "{message}");
    assert!(!world.holds());
}

#[tokio::test]
async fn a_start_takes_what_the_cache_has_and_does_not_wait_for_a_registry() {
    let world = World::new(vec![fitting()]).await;
    let report = world.code(Missing::IsCompiled).await.expect("the set has code");
    assert_eq!((report.used, report.unused, world.reads()), (0, 1, 0));
    world.bring().await;
    let report = world.code(Missing::IsCompiled).await.expect("the set has code");
    assert_eq!((report.used, report.unused, world.reads()), (1, 0, 1));
    let signed_by = world.signed_by.clone().expect("it is signed");
    let kept = KeptSet { reference: world.reference.to_string(), signed_by };
    let cache = world.cache();
    let code = CodeOfSets { folder: &world.sets, registries: &world.registries, cache: &cache };
    assert_eq!(code.there(&kept, &world.policy).await, Some(report));
}

#[tokio::test]
async fn a_set_without_code_has_nothing_to_report() {
    let world = World::new(Vec::new()).await;
    assert_eq!(world.code(Missing::IsBrought).await, None);
}
