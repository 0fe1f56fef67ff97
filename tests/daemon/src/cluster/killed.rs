//! The daemon is killed at other moments each time, while pods start, end and go.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use tokio::time::sleep;

use witlet_harness::cluster::{Cluster, exit_code, failed, is_true, phase};

/// Pods that come and go at once.
const PODS: usize = 30;
/// Every so many one is a job that ends by itself.
const JOB_EVERY: usize = 3;
/// How often pods come and go; the daemon is killed twice in each.
const ROUNDS: u64 = 6;
/// The moments of the kills are spread over so long after the pods came, and after they were deleted.
const KILL_WITHIN: Duration = Duration::from_millis(1500);
/// With what a job ends.
const CODE: i32 = 3;

struct Pods {
    runs: Vec<String>,
    jobs: Vec<String>,
}

impl Pods {
    fn of(round: u64) -> Self {
        let (jobs, runs): (Vec<_>, Vec<_>) = (0..PODS).partition(|number| number % JOB_EVERY == 0);
        Self {
            runs: runs.iter().map(|number| format!("web-{round}-{number}")).collect(),
            jobs: jobs.iter().map(|number| format!("job-{round}-{number}")).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.runs.iter().chain(&self.jobs)
    }
}

/// What isn't as it should be while all run, and the jobs have ended if that is expected.
fn missing(cluster: &Cluster, pods: &Pods, jobs_ended: bool) -> Vec<String> {
    let as_expected = |name: &String| {
        let Some(pod) = cluster.pod(name) else { return Err(format!("{name} has no object")) };
        let is_it = if jobs_ended && pods.jobs.contains(name) {
            phase(&pod) == "Failed" && exit_code(&pod) == Some(CODE)
        } else {
            // A container that was made and never started counts as a restart, as upstream has it.
            is_true(&pod, "Ready")
        };
        if is_it { Ok(()) } else { Err(format!("{name} is {}", phase(&pod))) }
    };
    pods.all().filter_map(|name| as_expected(name).err()).collect()
}

/// No container was started twice.
fn once(cluster: &Cluster, pods: &Pods) -> Result<(), Failed> {
    let starts = |name: &String| cluster.cri().started(name, "main");
    let wrong: Vec<_> = pods.all().filter(|name| starts(name) != 1).map(|n| (n, starts(n))).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(cluster.failure(&format!("containers weren't started once: {wrong:?}")))
}

async fn kill_after(cluster: &mut Cluster, moment: Duration) -> Result<(), Failed> {
    sleep(moment).await;
    cluster.daemon.kill_and_restart().map_err(failed)
}

/// Nothing runs twice, no status is lost, and nothing stays on its way out.
pub(super) async fn while_pods_come_and_go() -> Result<(), Failed> {
    let mut cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    for round in 0..ROUNDS {
        let pods = Pods::of(round);
        let moment =
            KILL_WITHIN.mul_f64(f64::from(u32::try_from(round)?) / f64::from(u32::try_from(ROUNDS)?));
        for name in &pods.runs {
            cluster.create(name)?;
        }
        for name in &pods.jobs {
            cluster.create_with(name, "Never")?;
        }
        kill_after(&mut cluster, moment).await?;
        cluster
            .until_nothing_is_missing(&format!("the pods of round {round} run"), |c| missing(c, &pods, false))
            .await?;
        once(&cluster, &pods)?;
        // The jobs end; every other round only the killed daemon could have seen it.
        if round % 2 == 0 {
            cluster.daemon.kill().map_err(failed)?;
        }
        let ended: usize = pods.jobs.iter().map(|name| cluster.cri().exit(name, CODE)).sum();
        if ended != pods.jobs.len() {
            return Err(cluster.failure(&format!("{ended} jobs ran")));
        }
        if round % 2 == 0 {
            cluster.daemon.launch().map_err(failed)?;
        } else {
            kill_after(&mut cluster, moment).await?;
        }
        cluster.until_nothing_is_missing("the jobs' ends are reported", |c| missing(c, &pods, true)).await?;
        once(&cluster, &pods)?;
        for name in pods.all() {
            cluster.delete(name, None)?;
        }
        kill_after(&mut cluster, moment).await?;
        cluster
            .until_nothing_is_missing("all objects are gone", |c| {
                c.api().list::<Pod>().into_iter().filter_map(|pod| pod.metadata.name).collect()
            })
            .await?;
        once(&cluster, &pods)?;
        cluster.until("their sandboxes are gone", |c| (c.cri().sandboxes() == 0).then_some(())).await?;
    }
    cluster.end().await
}
