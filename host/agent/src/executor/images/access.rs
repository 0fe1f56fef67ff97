//! Who may use an image that is there already: keeps records of pulls and asks them, as `witlet_core::image::records` decides.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::OnceCell;
use witlet_core::error::one_line;
use witlet_core::image::records::{
    KnownPulls, PullSecret, PulledRecord, PulledWith, VerificationPolicy, must_attempt_pull, unknown_records,
};
use witlet_ports::{Clock, FilesError, ImageStore, Images as ImagePort, PullRecords};

use crate::metrics::AccessCheck;

/// Asks and keeps the records of all pulls.
pub(crate) struct PullAccess {
    records: Arc<dyn PullRecords>,
    policy: VerificationPolicy,
    clock: Arc<dyn Clock>,
    /// Pulls under way by image: the last one that ends takes the note of the beginning away.
    running: Mutex<BTreeMap<String, usize>>,
    /// One change of a record at a time.
    changing: tokio::sync::Mutex<()>,
    recovered: OnceCell<()>,
}

impl PullAccess {
    pub(crate) fn new(
        records: Arc<dyn PullRecords>,
        policy: VerificationPolicy,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (running, changing, recovered) =
            (Mutex::default(), tokio::sync::Mutex::default(), OnceCell::new());
        Self { records, policy, clock, running, changing, recovered }
    }

    /// Pulls that were begun before this start and whose images are there: with what they were pulled is unknown.
    pub(crate) async fn recover(&self, port: &dyn ImagePort) {
        self.recovered.get_or_init(|| self.recover_all(port)).await;
    }

    async fn recover_all(&self, port: &dyn ImagePort) {
        let intents = self.records.intents().await.unwrap_or_else(|error| {
            tracing::error!(error = one_line(&error), "Failed to list begun image pulls");
            Vec::new()
        });
        for image in intents {
            match port.status(&image).await {
                Ok(Some(found)) => match self.note(&image, &found.id, None).await {
                    Ok(()) => self.end(&image).await,
                    Err(error) => log_write(&image, &error),
                },
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(
                        image,
                        error = one_line(&error),
                        "Failed to inspect an image whose pull was begun"
                    );
                }
            }
        }
    }

    /// Whether a pod may use what is there, or only after a pull. `secrets` are those that it shows for the image, asked for where
    /// they decide.
    pub(crate) async fn check(
        &self,
        image: &str,
        image_ref: &str,
        secrets: impl AsyncFnOnce() -> Vec<PullSecret>,
    ) -> AccessCheck {
        let known = match self.known(image, image_ref).await {
            Ok(known) => known,
            Err(error) => {
                log_read(image, &error);
                return AccessCheck::Error;
            }
        };
        let asked = KnownPulls { record: known.0.as_ref(), intended: known.1 };
        if !must_attempt_pull(image, &self.policy, asked, &[]) {
            // Where no record decided, the policy did.
            let by_record = known.0.is_some();
            return if by_record { AccessCheck::RecordFound } else { AccessCheck::PolicyAllowed };
        }
        let Some(record) = known.0.as_ref().filter(|record| record.has_secrets(image)) else {
            return AccessCheck::MustAuthenticate;
        };
        let secrets = secrets().await;
        if must_attempt_pull(image, &self.policy, asked, &secrets) {
            return AccessCheck::MustAuthenticate;
        }
        if let Some(noted) = record.accepted(image, &secrets, self.clock.now()) {
            let _alone = self.changing.lock().await;
            if let Err(error) = self.records.keep(&noted).await {
                log_write(image, &error);
            }
        }
        AccessCheck::RecordFound
    }

    /// Returns what the image was pulled with under this name; none if that isn't known.
    pub(crate) async fn pulled_with(&self, image: &str, image_ref: &str) -> Option<PulledWith> {
        match self.records.record(image_ref).await {
            Ok(record) => record?.of_image(image).cloned(),
            Err(error) => {
                log_read(image, &error);
                None
            }
        }
    }

    async fn known(&self, image: &str, image_ref: &str) -> Result<(Option<PulledRecord>, bool), FilesError> {
        let record = self.records.record(image_ref).await?;
        let is_intended = record.is_none()
            && (self.running().contains_key(image) || self.records.is_intended(image).await?);
        Ok((record, is_intended))
    }

    /// A pull begins. Until its end, and after a crash before it, the image isn't taken for a preloaded one.
    pub(crate) async fn begin(&self, image: &str) -> Result<(), FilesError> {
        self.records.intend(image).await?;
        *self.running().entry(image.to_owned()).or_default() += 1;
        Ok(())
    }

    /// A pull succeeded. If that can't be noted, the beginning stays noted, and the next start makes it good.
    pub(crate) async fn succeeded(&self, image: &str, image_ref: &str, with: PulledWith) {
        match self.note(image, image_ref, Some(with)).await {
            Ok(()) => self.end(image).await,
            Err(error) => log_write(image, &error),
        }
    }

    /// A pull failed, or its waiters are gone.
    pub(crate) async fn failed(&self, image: &str) {
        self.end(image).await;
    }

    async fn note(&self, image: &str, image_ref: &str, with: Option<PulledWith>) -> Result<(), FilesError> {
        let _alone = self.changing.lock().await;
        // What can't be read is written again.
        let known = self.records.record(image_ref).await.unwrap_or_default();
        match PulledRecord::pulled(known.as_ref(), image, image_ref, with, self.clock.now()) {
            None => Ok(()),
            Some(record) => self.records.keep(&record).await,
        }
    }

    /// Removes the records whose images the runtime doesn't have any more. Those that were written since `until` stay. No record
    /// is written meanwhile: an image that was pulled again keeps the one that it had.
    pub(crate) async fn prune(&self, store: &dyn ImageStore, until: Timestamp) {
        let _alone = self.changing.lock().await;
        let images = match store.list().await {
            Ok(images) => images,
            Err(error) => {
                tracing::error!(error = one_line(&error), "Failed to list images, records of pulls stay");
                return;
            }
        };
        // By identifier, tag or digest: runtimes differ in what a pull returns.
        let images = images.into_iter().flat_map(|image| image.names.into_iter().chain([image.id])).collect();
        let records = self.records.records().await.unwrap_or_else(|error| {
            tracing::error!(error = one_line(&error), "Failed to list the records of image pulls");
            Vec::new()
        });
        for image_ref in unknown_records(&records, &images, until) {
            if let Err(error) = self.records.forget(image_ref).await {
                tracing::error!(image_ref, error = one_line(&error), "Failed to remove ImagePulledRecord");
            }
        }
    }

    async fn end(&self, image: &str) {
        let is_last = {
            let mut running = self.running();
            match running.get_mut(image) {
                Some(others) if *others > 1 => {
                    *others -= 1;
                    false
                }
                Some(_) | None => {
                    running.remove(image);
                    true
                }
            }
        };
        if is_last && let Err(error) = self.records.end_intent(image).await {
            log_write(image, &error);
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log_read(image: &str, error: &FilesError) {
    tracing::error!(image, error = one_line(error), "Failed to read the record of an image pull");
}

fn log_write(image: &str, error: &FilesError) {
    tracing::error!(image, error = one_line(error), "Failed to write the record of an image pull");
}
