//! A case of a probe type, set up once more with something changed.

use witlet_core::probe::ProbeRequest;

use crate::Ctx;
use crate::cases::{CaseFile, ProbeCase};
use crate::ctx::{Prober, Setup};
use crate::scene::{ServerScript, Servers, placed};

/// A case that can be probed.
pub(crate) struct Staged {
    /// The plugin as the case has it loaded.
    pub(crate) prober: Prober,
    /// What it is asked.
    pub(crate) request: ProbeRequest,
    /// They end with the value.
    _servers: Servers,
}

/// Sets a case up with these servers in place of its own, and with another setup. The error says why that can't be.
pub(crate) async fn stage(
    ctx: &Ctx<'_>,
    file: &CaseFile,
    case: &ProbeCase,
    servers: &[ServerScript],
    change: impl FnOnce(&mut Setup),
) -> Result<Staged, String> {
    let mut setup = ctx.setup_of(file, case.config.as_ref()).map_err(|error| error.to_string())?;
    let servers = Servers::start(servers).await.map_err(|error| error.to_string())?;
    setup.address = Some(servers.address);
    setup.execs = case.execs.clone();
    change(&mut setup);
    let prober = ctx.prober(&setup).await.map_err(|error| error.sentence())?;
    let request = ProbeRequest {
        parameters: placed(&case.parameters, servers.address).to_string().into(),
        pod_ips: case.pod_ips.clone().unwrap_or_else(|| vec![servers.address]),
        ..case.request.clone()
    };
    Ok(Staged { prober, request, _servers: servers })
}

/// Cases in which a probe passes, with their files.
pub(crate) fn passing<'a>(ctx: &Ctx<'a>) -> Vec<(&'a CaseFile, &'a ProbeCase)> {
    use crate::cases::{OutcomeWord, ProbeExpect};
    let passes = |case: &ProbeCase| match &case.expect {
        ProbeExpect::Outcome { outcome, .. } => *outcome != OutcomeWord::Failure,
        ProbeExpect::Validate(_) | ProbeExpect::Parameters(_) | ProbeExpect::Error(_) => false,
    };
    ctx.probe_cases().filter(|(_, case)| passes(case)).collect()
}
