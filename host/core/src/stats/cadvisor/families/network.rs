//! Traffic of network interfaces.

use super::{Family, Figures};
use crate::stats::cadvisor::rows::Row;
use crate::stats::network::InterfaceUsage;

pub(super) const FAMILIES: &[Family] = &[
    Family::counter(
        "container_network_receive_bytes_total",
        "Cumulative count of bytes received",
        |row, to| {
            interfaces(row, to, |interface| interface.rx_bytes);
        },
    ),
    Family::counter(
        "container_network_receive_packets_total",
        "Cumulative count of packets received",
        |row, to| {
            interfaces(row, to, |interface| interface.rx_packets);
        },
    ),
    Family::counter(
        "container_network_receive_packets_dropped_total",
        "Cumulative count of packets dropped while receiving",
        |row, to| interfaces(row, to, |interface| interface.rx_dropped),
    ),
    Family::counter(
        "container_network_receive_errors_total",
        "Cumulative count of errors encountered while receiving",
        |row, to| {
            interfaces(row, to, |interface| interface.rx_errors);
        },
    ),
    Family::counter(
        "container_network_transmit_bytes_total",
        "Cumulative count of bytes transmitted",
        |row, to| {
            interfaces(row, to, |interface| interface.tx_bytes);
        },
    ),
    Family::counter(
        "container_network_transmit_packets_total",
        "Cumulative count of packets transmitted",
        |row, to| {
            interfaces(row, to, |interface| interface.tx_packets);
        },
    ),
    Family::counter(
        "container_network_transmit_packets_dropped_total",
        "Cumulative count of packets dropped while transmitting",
        |row, to| interfaces(row, to, |interface| interface.tx_dropped),
    ),
    Family::counter(
        "container_network_transmit_errors_total",
        "Cumulative count of errors encountered while transmitting",
        |row, to| {
            interfaces(row, to, |interface| interface.tx_errors);
        },
    ),
];

fn interfaces(row: &Row, to: &mut Figures<'_>, figure: fn(&InterfaceUsage) -> u64) {
    for interface in &row.network {
        to.put_with(&[("interface", &interface.name)], figure(interface) as f64);
    }
}
