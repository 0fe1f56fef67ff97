//! Attacks through sockets: to where nothing is granted, and on their number.

use std::net::{IpAddr, SocketAddr};

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
};
use wasip2::sockets::tcp::{InputStream, OutputStream, TcpSocket};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp::{OutgoingDatagram, UdpSocket};
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::{reported, reported_until};

pub(crate) fn run(word: &str, aim: &str) -> Option<String> {
    Some(match word {
        "connect" => reported(connect(aim).map(|_| ())),
        // Connected, and nothing of what comes is ever read.
        "never-read" => match connect(aim) {
            Ok(_kept) => {
                subscribe_duration(u64::MAX).block();
                "came back".to_owned()
            }
            Err(error) => reported::<(), _>(Err(error)),
        },
        // Written to, and nothing reads there.
        "write-for-ever" => match connect(aim) {
            Ok((_input, output, _socket)) => loop {
                if let Err(error) = output.blocking_write_and_flush(&[7; 4096]) {
                    return Some(reported::<(), _>(Err(error)));
                }
            },
            Err(error) => reported::<(), _>(Err(error)),
        },
        "connections" => reported_until(|_| connect(aim), 5000),
        "bind" => reported(bind(aim).map(|_| ())),
        "listen" => reported(bind(aim).and_then(|socket| listen(&socket))),
        "sockets" => reported_until(|_| create_tcp_socket(IpAddressFamily::Ipv4), 100_000),
        "udp-bind" => reported(udp_bind(aim).map(|_| ())),
        "udp" => reported(udp_send(aim)),
        "udp-flood" => loop {
            if let Err(error) = udp_send(aim) {
                return Some(reported::<(), _>(Err(error)));
            }
        },
        "udp-receive" => match udp_bind("0.0.0.0:0").and_then(|socket| socket.stream(None)) {
            Ok((input, _output)) => {
                input.subscribe().block();
                reported(input.receive(1).map(|datagrams| datagrams.len()))
            }
            Err(error) => reported::<(), _>(Err(error)),
        },
        "lookup" => reported(look_up(aim)),
        "lookups" => {
            let network = instance_network();
            reported_until(|number| resolve_addresses(&network, &format!("x{number}.{aim}")), 100_000)
        }
        _ => return None,
    })
}

fn address(text: &str) -> Result<(IpAddressFamily, IpSocketAddress), ErrorCode> {
    let address: SocketAddr = text.parse().map_err(|_| ErrorCode::InvalidArgument)?;
    let port = address.port();
    Ok(match address.ip() {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            let address = Ipv4SocketAddress { port, address: (a, b, c, d) };
            (IpAddressFamily::Ipv4, IpSocketAddress::Ipv4(address))
        }
        IpAddr::V6(ip) => {
            let [a, b, c, d, e, f, g, h] = ip.segments();
            let address =
                Ipv6SocketAddress { port, flow_info: 0, address: (a, b, c, d, e, f, g, h), scope_id: 0 };
            (IpAddressFamily::Ipv6, IpSocketAddress::Ipv6(address))
        }
    })
}

/// Dropped in this order: the streams are the socket's children.
fn connect(to: &str) -> Result<(InputStream, OutputStream, TcpSocket), ErrorCode> {
    let (family, to) = address(to)?;
    let socket = create_tcp_socket(family)?;
    socket.start_connect(&instance_network(), to)?;
    loop {
        match socket.finish_connect() {
            Ok((input, output)) => return Ok((input, output, socket)),
            Err(ErrorCode::WouldBlock) => socket.subscribe().block(),
            Err(error) => return Err(error),
        }
    }
}

fn bind(at: &str) -> Result<TcpSocket, ErrorCode> {
    let (family, at) = address(at)?;
    let socket = create_tcp_socket(family)?;
    socket.start_bind(&instance_network(), at)?;
    socket.finish_bind()?;
    Ok(socket)
}

fn listen(socket: &TcpSocket) -> Result<(), ErrorCode> {
    socket.start_listen()?;
    socket.finish_listen()
}

fn udp_bind(at: &str) -> Result<UdpSocket, ErrorCode> {
    let (family, at) = address(at)?;
    let socket = create_udp_socket(family)?;
    socket.start_bind(&instance_network(), at)?;
    socket.finish_bind()?;
    Ok(socket)
}

fn udp_send(to: &str) -> Result<u64, ErrorCode> {
    let (family, to) = address(to)?;
    let any = match family {
        IpAddressFamily::Ipv4 => "0.0.0.0:0",
        IpAddressFamily::Ipv6 => "[::]:0",
    };
    let socket = udp_bind(any)?;
    let (_input, output) = socket.stream(None)?;
    while output.check_send()? == 0 {
        output.subscribe().block();
    }
    output.send(&[OutgoingDatagram { data: b"intruder".to_vec(), remote_address: Some(to) }])
}

fn look_up(name: &str) -> Result<Vec<IpAddress>, ErrorCode> {
    let network = instance_network();
    let lookup = resolve_addresses(&network, name)?;
    let mut found = Vec::new();
    loop {
        match lookup.resolve_next_address() {
            Ok(Some(address)) => found.push(address),
            Ok(None) => return Ok(found),
            Err(ErrorCode::WouldBlock) => lookup.subscribe().block(),
            Err(error) => return Err(error),
        }
    }
}
