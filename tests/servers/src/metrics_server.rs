//! What a metrics server makes of a node's `/metrics/resource`, and so what `kubectl top` and autoscalers see: which samples it takes, which
//! pods it leaves out, and what it computes of two scrapes (`pkg/scraper/client/resource` and `pkg/storage` of metrics-server 0.7 and 0.8).

use std::collections::BTreeMap;

/// How old a container has to be so that its start counts as an earlier scrape.
const FRESH_CONTAINER_MIN: i64 = 10 * SECOND;
/// Times are in nanoseconds since 1970.
const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;

/// What a node or a container had used at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When it was started, in nanoseconds; a node's isn't known.
    pub started_at: Option<i64>,
    /// When this was measured, in nanoseconds.
    pub at: i64,
    /// Processor time since then, in nanoseconds.
    pub cpu: u64,
    /// Working set, in bytes.
    pub memory: u64,
}

/// Namespace and name of a pod.
pub type PodName = (String, String);

/// Containers by name.
pub type Containers<T> = BTreeMap<String, T>;

/// What one scrape brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrape {
    /// None of a node that lacks a figure.
    pub node: Option<Point>,
    /// Those without a pod one of whose containers lacks a figure.
    pub pods: BTreeMap<PodName, Containers<Point>>,
}

/// What is used, as `kubectl top` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Billionths of a core.
    pub nanocores: u64,
    /// Bytes.
    pub memory: u64,
    /// Between which times it was used, in nanoseconds.
    pub window: (i64, i64),
}

/// A sample of the text format.
struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
    at: Option<i64>,
}

impl<'a> Sample<'a> {
    /// Of a line that is no comment.
    fn read(line: &'a str) -> Option<Self> {
        let (series, rest) = match line.split_once('{') {
            // No name of Kubernetes has a brace.
            Some((name, rest)) => rest.split_once('}').map(|(labels, rest)| ((name, labels), rest))?,
            None => line.split_once(' ').map(|(name, rest)| ((name, ""), rest))?,
        };
        let mut words = rest.split_ascii_whitespace();
        let value = words.next()?.parse().ok()?;
        let at = words.next().map(str::parse::<i64>).transpose().ok()?.map(|at| at * MILLISECOND);
        let is_end = words.next().is_none();
        is_end.then_some(Self { name: series.0, labels: series.1, value, at })
    }

    fn label(&self, name: &str) -> Option<&'a str> {
        self.labels
            .split(',')
            .find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
    }

    fn nanoseconds(&self) -> u64 {
        (self.value * SECOND as f64) as u64
    }
}

impl Scrape {
    /// Of a response to a request of this time, in nanoseconds.
    ///
    /// # Errors
    /// When a line isn't of the text format: then nothing of the response counts.
    pub fn read(text: &str, requested_at: i64) -> Result<Self, String> {
        let mut node = Point::default();
        let mut pods: BTreeMap<PodName, Containers<Point>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let sample = Sample::read(line).ok_or_else(|| format!("no sample: {line:?}"))?;
            let at = sample.at.unwrap_or(requested_at);
            if let Some(of_node) = sample.name.strip_prefix("node_") {
                match of_node {
                    "cpu_usage_seconds_total" => (node.cpu, node.at) = (sample.nanoseconds(), at),
                    "memory_working_set_bytes" => (node.memory, node.at) = (sample.value as u64, at),
                    _ => {}
                }
                continue;
            }
            let Some(
                of_container
                @ ("cpu_usage_seconds_total" | "memory_working_set_bytes" | "start_time_seconds"),
            ) = sample.name.strip_prefix("container_")
            else {
                continue;
            };
            let label = |name| sample.label(name).map(str::to_owned);
            let Some(((namespace, pod), container)) =
                label("namespace").zip(label("pod")).zip(label("container"))
            else {
                return Err(format!("no container: {line:?}"));
            };
            let point = pods.entry((namespace, pod)).or_default().entry(container).or_default();
            match of_container {
                "cpu_usage_seconds_total" => (point.cpu, point.at) = (sample.nanoseconds(), at),
                "memory_working_set_bytes" => (point.memory, point.at) = (sample.value as u64, at),
                _ => point.started_at = i64::try_from(sample.nanoseconds()).ok(),
            }
        }
        let is_whole = |point: &Point| point.cpu > 0 && point.memory > 0;
        pods.retain(|_, containers| containers.values().all(is_whole));
        Ok(Self { node: Some(node).filter(is_whole), pods })
    }
}

/// The last two scrapes of a node.
#[derive(Debug)]
pub struct MetricsServer {
    /// Between two scrapes, in nanoseconds (`--metric-resolution`).
    resolution: i64,
    last: Scrape,
    previous: Scrape,
}

impl MetricsServer {
    /// One that scrapes after so many seconds.
    pub fn new(resolution_seconds: u32) -> Self {
        let resolution = i64::from(resolution_seconds) * SECOND;
        Self { resolution, last: Scrape::default(), previous: Scrape::default() }
    }

    /// Takes a scrape.
    pub fn store(&mut self, scrape: Scrape) {
        let node = scrape.node.and_then(|new| earlier(&new, self.last.node, self.previous.node));
        let mut previous = Scrape { node, ..Scrape::default() };
        for (pod, containers) in &scrape.pods {
            let known = |of: &Scrape, name: &String| of.pods.get(pod)?.get(name).copied();
            for (name, new) in containers {
                let earlier = self.start(new).or_else(|| {
                    // One that was started again since has no earlier scrape.
                    let last = known(&self.last, name)
                        .filter(|last| new.started_at.is_none_or(|at| at < last.at))?;
                    earlier(new, Some(last), known(&self.previous, name))
                });
                if let Some(earlier) = earlier {
                    previous.pods.entry(pod.clone()).or_default().insert(name.clone(), earlier);
                }
            }
        }
        (self.last, self.previous) = (scrape, previous);
    }

    /// A container that was started between two scrapes had used nothing then.
    fn start(&self, new: &Point) -> Option<Point> {
        let started_at = new.started_at?;
        let age = new.at - started_at;
        (FRESH_CONTAINER_MIN..self.resolution).contains(&age).then_some(Point {
            at: started_at,
            cpu: 0,
            ..*new
        })
    }

    /// `kubectl top node`
    pub fn node(&self) -> Option<Usage> {
        usage(&self.last.node?, &self.previous.node?)
    }

    /// `kubectl top pod --containers`; none of a pod one of whose containers has no earlier scrape.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<Containers<Usage>> {
        let pod = (namespace.to_owned(), name.to_owned());
        let (last, previous) = (self.last.pods.get(&pod)?, self.previous.pods.get(&pod)?);
        let mut used = Containers::new();
        for (name, last) in last {
            used.extend(usage(last, previous.get(name)?).map(|usage| (name.clone(), usage)));
        }
        Some(used)
    }
}

/// Which scrape is the one before: the last one, unless it is of the same time.
fn earlier(new: &Point, last: Option<Point>, previous: Option<Point>) -> Option<Point> {
    let last = last?;
    if new.at > last.at { Some(last) } else { previous.filter(|previous| previous.at < new.at) }
}

/// None if less was used than before.
fn usage(last: &Point, previous: &Point) -> Option<Usage> {
    let used = last.cpu.checked_sub(previous.cpu).filter(|_| last.started_at >= previous.started_at)?;
    let seconds = (last.at - previous.at) as f64 / SECOND as f64;
    let nanocores = (used as f64 / seconds) as u64;
    Some(Usage { nanocores, memory: last.memory, window: (previous.at, last.at) })
}
