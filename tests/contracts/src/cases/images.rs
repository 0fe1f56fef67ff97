//! What is promised of images.

use std::time::Duration;

use witlet_core::runtime::{ImageAuth, SandboxSpec};

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

pub(super) async fn images_are_listed_with_their_sizes_and_names(fixture: &Fixture<'_>) -> Verdict {
    let name = &fixture.environment.sleeper.image;
    let Some(status) = fixture.runtime.images.status(name).await? else {
        return Err(format!("{name} isn't there").into());
    };
    let listed = fixture.runtime.image_store.list().await?;
    let Some(found) = listed.iter().find(|image| image.id == status.id) else {
        return Err(format!("{name} is {} and isn't in {listed:?}", status.id).into());
    };
    ensure!(found.size == status.size_bytes && found.size > 0, "{name} has {} bytes: {status:?}", found.size);
    ensure!(found.pinned == status.pinned, "{name} is listed as {found:?}, its status is {status:?}");
    let names = status.repo_digests.into_iter().chain(status.repo_tags);
    ensure!(found.names == names.collect::<Vec<_>>(), "{name} is listed under {:?}", found.names);
    Ok(())
}

pub(super) async fn the_image_of_a_container_is_known_until_that_is_removed(
    fixture: &Fixture<'_>,
) -> Verdict {
    let store = &fixture.runtime.image_store;
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let container = fixture.create(&sandbox, &pod, &config).await?;
    let status = fixture.runtime.images.status(&fixture.environment.sleeper.image).await?;
    let id = status.map(|image| image.id).unwrap_or_default();
    let image_of = async || -> Verdict<Option<String>> {
        let all = store.containers().await?;
        Ok(all.into_iter().find(|one| one.container == container).map(|one| one.image))
    };
    let created = image_of().await?;
    ensure!(created.as_ref() == Some(&id), "a container that was created uses {created:?}, not {id}");
    fixture.runtime.containers.start(&container).await?;
    fixture.runtime.containers.stop(&container, Duration::ZERO).await?;
    let ended = image_of().await?;
    ensure!(ended.as_ref() == Some(&id), "a container that has ended uses {ended:?}, not {id}");
    fixture.runtime.containers.remove(&container).await?;
    let removed = image_of().await?;
    ensure!(removed.is_none(), "a container that was removed uses {removed:?}");
    Ok(())
}

pub(super) async fn a_container_without_image_volumes_has_none_mounted(fixture: &Fixture<'_>) -> Verdict {
    let store = &fixture.runtime.image_store;
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let config = pod.container("app", 0, &fixture.environment.sleeper);
    let container = fixture.create(&sandbox, &pod, &config).await?;
    let mounted = store.mounted_images(&container).await?;
    ensure!(mounted.is_empty(), "it has {mounted:?} mounted");
    let mounted = store.mounted_images(&"not-there".into()).await?;
    ensure!(mounted.is_empty(), "what isn't there has {mounted:?} mounted");
    Ok(())
}

pub(super) async fn the_image_file_system_has_a_place(fixture: &Fixture<'_>) -> Verdict {
    let systems = fixture.runtime.image_store.filesystems().await?;
    let Some(images) = systems.images.first() else {
        return Err("the runtime names no image file system".to_owned().into());
    };
    ensure!(images.mountpoint.is_absolute(), "images are at {}", images.mountpoint.display());
    Ok(())
}

pub(super) async fn removing_an_image_that_is_not_there_succeeds(fixture: &Fixture<'_>) -> Verdict {
    let store = &fixture.runtime.image_store;
    store.remove(&fixture.environment.absent_image).await?;
    let digest = "0".repeat(64);
    store.remove(&format!("sha256:{digest}")).await?;
    Ok(())
}

pub(super) async fn a_removed_image_can_be_pulled_again(fixture: &Fixture<'_>) -> Verdict {
    let Some(image) = &fixture.environment.offers.removable_image else {
        return Err("the case ran without what it needs".to_owned().into());
    };
    let (images, store) = (&fixture.runtime.images, &fixture.runtime.image_store);
    let sandbox: SandboxSpec = fixture.pod().sandbox;
    images.pull(image, None, &sandbox).await?;
    let Some(found) = images.status(image).await? else {
        return Err(format!("{image} was pulled and isn't there").into());
    };
    for _ in 0..2 {
        store.remove(&found.id).await?;
        let left = store.list().await?;
        ensure!(left.iter().all(|other| other.id != found.id), "{image} was removed and is listed");
        let left = images.status(image).await?;
        ensure!(left.is_none(), "{image} was removed and is {left:?}");
    }
    images.pull(image, None, &sandbox).await?;
    ensure!(images.status(image).await?.is_some(), "{image} was pulled again and isn't there");
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
    let sandbox: SandboxSpec = fixture.pod().sandbox;
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
