//! The kernel's table of interfaces.

use super::*;

#[test]
fn the_table_is_read() {
    let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:    2000      20    3    6    0     0          0         0     4000      40    5    7    0     0       0          0
veth12:    2000      20    3    0    0     0          0         0     4000      40    5    0    0     0       0          0
 cni0:1 2 3
";
    let expected = InterfaceUsage {
        name: "eth0".to_owned(),
        rx_bytes: 2000,
        rx_packets: 20,
        rx_errors: 3,
        rx_dropped: 6,
        tx_bytes: 4000,
        tx_packets: 40,
        tx_errors: 5,
        tx_dropped: 7,
    };
    assert_eq!(interfaces(table), [expected]);
    assert_eq!(interfaces(""), []);
}

#[test]
fn a_namespace_with_many_interfaces_is_cut() {
    let line = |n: usize| format!("eth{n}: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    let table: String = (0..INTERFACES_MAX + 10).map(line).collect();
    assert_eq!(interfaces(&table).len(), INTERFACES_MAX);
}
