//! What is promised of images.

use witlet_core::runtime::{ImageAuth, SandboxConfig};

use crate::environment::{Registry, Workload};
use crate::fixture::{Fixture, Verdict, ensure};

pub(super) async fn an_image_that_is_there_has_an_id(fixture: &Fixture<'_>) -> Verdict {
    let image = &fixture.environment.sleeper.image;
    let found = fixture.runtime.images.status(image).await?;
    ensure!(found.is_some_and(|found| !found.id.is_empty()), "{image} isn't there");
    Ok(())
}

pub(super) async fn an_image_that_is_not_there_is_none(fixture: &Fixture<'_>) -> Verdict {
    let found = fixture.runtime.images.status(&fixture.environment.absent_image).await?;
    ensure!(found.is_none(), "there is {found:?}");
    Ok(())
}

pub(super) async fn pulling_what_does_not_exist_fails(fixture: &Fixture<'_>) -> Verdict {
    let image = &fixture.environment.absent_image;
    let pulled = fixture.runtime.images.pull(image, None, &fixture.pod().sandbox).await;
    ensure!(pulled.is_err(), "the pull returned {pulled:?}");
    let found = fixture.runtime.images.status(image).await?;
    ensure!(found.is_none(), "after a failed pull there is {found:?}");
    Ok(())
}

pub(super) async fn what_a_pull_returns_can_be_run(fixture: &Fixture<'_>) -> Verdict {
    let Some(image) = &fixture.environment.pullable_image else {
        return Err("the case ran without what it needs".to_owned().into());
    };
    let reference = fixture.runtime.images.pull(image, None, &fixture.pod().sandbox).await?;
    let found = fixture.runtime.images.status(image).await?;
    ensure!(found.is_some(), "{image} was pulled and isn't there");
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let workload = Workload { image: reference, ..fixture.environment.sleeper.clone() };
    fixture.start(&sandbox, &pod, &pod.container("app", 0, &workload)).await?;
    Ok(())
}

fn registry<'a>(fixture: &Fixture<'a>) -> Verdict<&'a Registry> {
    let registry = fixture.environment.offers.registry.as_ref();
    registry.ok_or_else(|| "the case ran without what it needs".to_owned().into())
}

pub(super) async fn a_private_image_is_only_for_those_who_show_its_credentials(
    fixture: &Fixture<'_>,
) -> Verdict {
    let Registry { private_image, auth, .. } = registry(fixture)?;
    let images = &fixture.runtime.images;
    let sandbox: SandboxConfig = fixture.pod().sandbox;
    let wrong = ImageAuth { password: "not this one".to_owned(), ..auth.clone() };
    for refused in [None, Some(&wrong)] {
        let pulled = images.pull(private_image, refused, &sandbox).await;
        ensure!(pulled.is_err(), "with {:?} there is {pulled:?}", refused.map(|auth| &auth.username));
        let found = images.status(private_image).await?;
        ensure!(found.is_none(), "after a refused pull there is {found:?}");
    }
    let reference = images.pull(private_image, Some(auth), &sandbox).await?;
    let found = images.status(&reference).await?;
    ensure!(found.is_some(), "{private_image} was pulled as {reference} and isn't there");
    Ok(())
}

pub(super) async fn what_a_registry_has_not_got_can_not_be_pulled(fixture: &Fixture<'_>) -> Verdict {
    let Registry { absent_image, auth, .. } = registry(fixture)?;
    let images = &fixture.runtime.images;
    let pulled = images.pull(absent_image, Some(auth), &fixture.pod().sandbox).await;
    ensure!(pulled.is_err(), "there is {pulled:?}");
    Ok(())
}
