//! Examines a component layer by layer.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use witlet_ports::Clock;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::direct::DirectHost;
use witlet_wasm::host::StartError;
use witlet_wasm::inspect::{InspectError, inspect};

use crate::check::{CheckResult, Checks, Progress};
use crate::ctx::{Ctx, Engines};
use crate::plan::{Layer, Plan, Subject};
use crate::plugin_request::now_default;
use crate::report::{Examined, Report, ReportRole};
use crate::{budget, determinism, grants, hostile, load, properties, replay, vectors};

/// Why a component couldn't be examined. What a component does wrong is no error: the report has it.
#[derive(Debug, Error)]
pub enum KitError {
    /// The plugin host couldn't be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// What plugins are examined with. One for many components: the engines and the cache of compiled code are shared.
pub struct Kit(pub(crate) Engines);

/// The time that `validate` gets: always the same, because a run is to be repeatable.
struct StoppedClock(Timestamp);

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

impl Kit {
    /// Makes the engines. Components are compiled by a child process: the program must run
    /// [`witlet_wasm::compile::child_main`] when it is called with [`witlet_wasm::compile::is_compile_command`].
    ///
    /// # Errors
    ///
    /// When the engines or the cache of compiled code can't be had.
    pub fn start(compiler: CompilerConfig) -> Result<Self, KitError> {
        let clock: Arc<dyn Clock> = Arc::new(StoppedClock(now_default()));
        let host = Arc::new(DirectHost::start(compiler.clone(), clock.clone())?);
        Ok(Self(Engines { host, compiler, clock }))
    }

    /// Examines a component as the plan says. When it can't be loaded, the layers that need it loaded are skipped.
    ///
    /// # Errors
    ///
    /// When the kit itself fails. What the component does wrong is in the report.
    pub async fn examine(
        &self,
        subject: &Subject,
        plan: &Plan,
        progress: &dyn Progress,
    ) -> Result<Report, KitError> {
        let mut report = Report::new(subject, plan);
        let inspection = match inspect(&subject.wasm) {
            Ok(inspection) => inspection,
            Err(error) => {
                unreadable(&mut report, &error, progress);
                return Ok(report);
            }
        };
        report.component = Examined::of(subject, &inspection);
        let planned = |role| plan.roles.as_ref().is_none_or(|roles| roles.contains(&role));
        let examined = inspection.roles.iter().filter(|served| planned(served.role));
        report.roles = examined.map(ReportRole::of).collect();
        let ctx = Ctx { engines: &self.0, subject, plan, inspection };
        report.config = ctx.report_config();
        let mut loaded = true;
        // Nothing else says anything of a component that can't be loaded.
        for layer in
            Layer::ALL.into_iter().filter(|layer| *layer == Layer::Load || plan.layers.contains(layer))
        {
            progress.begin(layer);
            let started = tokio::time::Instant::now();
            let mut checks = Checks::new(layer, progress);
            match (loaded, layer) {
                (_, Layer::Load) => load::examine(&ctx, &mut checks).await,
                (false, _) => {
                    let why = "the component can't be loaded: see the layer load".to_owned();
                    checks.add(None, layer.as_str(), format!("layer {layer}"), CheckResult::Skipped { why });
                }
                (true, Layer::Vectors) => vectors::examine(&ctx, &mut checks).await,
                (true, Layer::Properties) => properties::examine(&ctx, &mut checks).await,
                (true, Layer::Hostile) => hostile::examine(&ctx, &mut checks).await,
                (true, Layer::Determinism) => determinism::examine(&ctx, &mut checks).await,
                (true, Layer::Budget) => budget::examine(&ctx, &mut checks).await,
                (true, Layer::Grants) => grants::examine(&ctx, &mut checks).await,
                (true, Layer::Replay) => replay::examine(&ctx, &mut checks).await,
            }
            if layer == Layer::Load {
                loaded = !checks.checks.iter().any(|check| matches!(check.result, CheckResult::Failed(_)));
            }
            progress.end(layer, &checks.checks, started.elapsed());
            report.checks.append(&mut checks.checks);
            report.figures.append(&mut checks.figures);
        }
        Ok(report)
    }
}

/// The one finding about bytes that are no component.
fn unreadable(report: &mut Report, error: &InspectError, progress: &dyn Progress) {
    progress.begin(Layer::Load);
    let mut checks = Checks::new(Layer::Load, progress);
    load::not_a_component(&mut checks, error);
    progress.end(Layer::Load, &checks.checks, Duration::ZERO);
    report.checks = checks.checks;
}
