//! Traffic of network interfaces, of the kernel's table of a network namespace (`/proc/PID/net/dev`).

#[cfg(test)]
mod tests;

/// Interfaces that are counted at most: a namespace may hold as many as its owner makes.
const INTERFACES_MAX: usize = 256;
/// What isn't a pod's or the node's own traffic (upstream: cAdvisor's `ignoredDevicePrefixes`).
const IGNORED: [&str; 4] = ["lo", "veth", "docker", "nerdctl"];

/// What one interface received and sent since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceUsage {
    /// Its name in its namespace.
    pub name: String,
    /// Bytes received.
    pub rx_bytes: u64,
    pub rx_packets: u64,
    /// Packets that couldn't be received.
    pub rx_errors: u64,
    /// Packets that didn't fit.
    pub rx_dropped: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    pub tx_packets: u64,
    /// Packets that couldn't be sent.
    pub tx_errors: u64,
    /// Packets that didn't fit.
    pub tx_dropped: u64,
}

/// The interfaces of the kernel's table, in its order.
pub fn interfaces(table: &str) -> Vec<InterfaceUsage> {
    table.lines().filter_map(interface).take(INTERFACES_MAX).collect()
}

/// A line: the name, eight figures of what was received, eight of what was sent. The two lines of headings have no colon.
fn interface(line: &str) -> Option<InterfaceUsage> {
    let (name, figures) = line.split_once(':')?;
    let name = name.trim();
    if IGNORED.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let mut figures = figures.split_ascii_whitespace().map(|figure| figure.parse::<u64>().ok());
    let mut four = || Some([figures.next()??, figures.next()??, figures.next()??, figures.next()??]);
    let [rx_bytes, rx_packets, rx_errors, rx_dropped] = four()?;
    let _of_receiving = four()?;
    let [tx_bytes, tx_packets, tx_errors, tx_dropped] = four()?;
    Some(InterfaceUsage {
        name: name.to_owned(),
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_dropped,
        tx_bytes,
        tx_packets,
        tx_errors,
        tx_dropped,
    })
}
