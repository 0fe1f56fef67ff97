//! What is promised of images.

use crate::environment::Workload;
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
    let pulled = fixture.runtime.images.pull(image).await;
    ensure!(pulled.is_err(), "the pull returned {pulled:?}");
    let found = fixture.runtime.images.status(image).await?;
    ensure!(found.is_none(), "after a failed pull there is {found:?}");
    Ok(())
}

pub(super) async fn what_a_pull_returns_can_be_run(fixture: &Fixture<'_>) -> Verdict {
    let Some(image) = &fixture.environment.pullable_image else {
        return Err("the case ran without what it needs".to_owned().into());
    };
    let reference = fixture.runtime.images.pull(image).await?;
    let found = fixture.runtime.images.status(image).await?;
    ensure!(found.is_some(), "{image} was pulled and isn't there");
    let pod = fixture.pod();
    let sandbox = fixture.run(&pod).await?;
    let workload = Workload { image: reference, ..fixture.environment.sleeper.clone() };
    fixture.start(&sandbox, &pod, &pod.container("app", 0, &workload)).await?;
    Ok(())
}
