//! Who the runtime is and how it is.

use crate::fixture::{Fixture, Verdict, ensure};

pub(super) async fn the_runtime_says_who_it_is_and_speaks_cri_v1(fixture: &Fixture<'_>) -> Verdict {
    let version = fixture.runtime.info.version().await?;
    ensure!(!version.runtime_name.is_empty(), "the runtime's name is empty");
    ensure!(!version.runtime_version.is_empty(), "the runtime's version is empty");
    ensure!(version.api_version == "v1", "the runtime speaks {:?}", version.api_version);
    Ok(())
}

pub(super) async fn runtime_and_network_are_ready(fixture: &Fixture<'_>) -> Verdict {
    let status = fixture.runtime.info.status().await?;
    for kind in ["RuntimeReady", "NetworkReady"] {
        let failing = status.failing(kind);
        ensure!(failing.is_none(), "{failing:?}");
    }
    Ok(())
}
