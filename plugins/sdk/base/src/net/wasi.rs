//! Sockets over `wasi:sockets`.

use std::net::IpAddr;

use wasip2::io::streams::{InputStream, OutputStream, StreamError};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress, Network,
};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp::{IncomingDatagramStream, OutgoingDatagram, OutgoingDatagramStream};
use wasip2::sockets::udp_create_socket::create_udp_socket;
use wasip2::sockets::{tcp, udp};

use super::{Problem, in_turn};
use crate::time::{Deadline, wait};

/// Dropped in this order: the streams are the socket's children.
#[derive(Debug)]
pub(super) struct TcpStream {
    input: InputStream,
    output: OutputStream,
    _socket: tcp::TcpSocket,
}

impl TcpStream {
    pub(super) fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Problem> {
        let network = instance_network();
        let mut last = Problem::NoSuchName;
        let addresses = look_up(&network, host, deadline)?;
        for (address, deadline) in in_turn(addresses, deadline) {
            match Self::open(&network, address, port, deadline) {
                Ok(stream) => return Ok(stream),
                Err(problem) => last = problem,
            }
        }
        Err(last)
    }

    fn open(network: &Network, address: IpAddr, port: u16, deadline: Deadline) -> Result<Self, Problem> {
        let socket = create_tcp_socket(family(address)).map_err(problem)?;
        socket.start_connect(network, socket_address(address, port)).map_err(problem)?;
        loop {
            match socket.finish_connect() {
                Ok((input, output)) => return Ok(Self { input, output, _socket: socket }),
                Err(ErrorCode::WouldBlock) => in_time(wait(&socket.subscribe(), deadline))?,
                Err(error) => return Err(problem(error)),
            }
        }
    }

    pub(super) fn read(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Problem> {
        let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        loop {
            match self.input.read(bytes_max) {
                Ok(bytes) if bytes.is_empty() => in_time(wait(&self.input.subscribe(), deadline))?,
                Ok(bytes) => return Ok(bytes),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(StreamError::LastOperationFailed(_)) => return Err(Problem::Reset),
            }
        }
    }

    pub(super) fn write_all(&mut self, mut bytes: &[u8], deadline: Deadline) -> Result<(), Problem> {
        while !bytes.is_empty() {
            let writable = self.output.check_write().map_err(|_| Problem::Reset)?;
            let writable = usize::try_from(writable).unwrap_or(usize::MAX).min(bytes.len());
            if writable == 0 {
                in_time(wait(&self.output.subscribe(), deadline))?;
                continue;
            }
            let (now, later) = bytes.split_at(writable);
            self.output.write(now).map_err(|_| Problem::Reset)?;
            bytes = later;
        }
        self.output.flush().map_err(|_| Problem::Reset)
    }
}

/// Dropped in this order: the streams are the socket's children.
#[derive(Debug)]
pub(super) struct UdpSocket {
    input: IncomingDatagramStream,
    output: OutgoingDatagramStream,
    _socket: udp::UdpSocket,
}

impl UdpSocket {
    pub(super) fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Problem> {
        let network = instance_network();
        let addresses = look_up(&network, host, deadline)?;
        let address = *addresses.first().ok_or(Problem::NoSuchName)?;
        let socket = create_udp_socket(family(address)).map_err(problem)?;
        let any = match address {
            IpAddr::V4(_) => IpAddr::from([0; 4]),
            IpAddr::V6(_) => IpAddr::from([0; 16]),
        };
        socket.start_bind(&network, socket_address(any, 0)).map_err(problem)?;
        loop {
            match socket.finish_bind() {
                Ok(()) => break,
                Err(ErrorCode::WouldBlock) => in_time(wait(&socket.subscribe(), deadline))?,
                Err(error) => return Err(problem(error)),
            }
        }
        let (input, output) = socket.stream(Some(socket_address(address, port))).map_err(problem)?;
        Ok(Self { input, output, _socket: socket })
    }

    pub(super) fn send(&mut self, bytes: &[u8], deadline: Deadline) -> Result<(), Problem> {
        while self.output.check_send().map_err(problem)? == 0 {
            in_time(wait(&self.output.subscribe(), deadline))?;
        }
        let datagram = OutgoingDatagram { data: bytes.to_vec(), remote_address: None };
        self.output.send(&[datagram]).map(|_| ()).map_err(problem)
    }

    pub(super) fn receive(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Problem> {
        loop {
            match self.input.receive(1).map_err(problem)?.pop() {
                Some(datagram) => {
                    let mut bytes = datagram.data;
                    bytes.truncate(bytes_max);
                    return Ok(bytes);
                }
                None => in_time(wait(&self.input.subscribe(), deadline))?,
            }
        }
    }
}

fn in_time(ready: bool) -> Result<(), Problem> {
    if ready { Ok(()) } else { Err(Problem::TimedOut) }
}

fn look_up(network: &Network, host: &str, deadline: Deadline) -> Result<Vec<IpAddr>, Problem> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let answers = resolve_addresses(network, host).map_err(problem)?;
    let mut addresses = Vec::new();
    while addresses.len() < ADDRESSES_MAX {
        match answers.resolve_next_address() {
            Ok(Some(IpAddress::Ipv4((a, b, c, d)))) => addresses.push(IpAddr::from([a, b, c, d])),
            Ok(Some(IpAddress::Ipv6((a, b, c, d, e, f, g, h)))) => {
                addresses.push(IpAddr::from([a, b, c, d, e, f, g, h]));
            }
            Ok(None) => break,
            Err(ErrorCode::WouldBlock) => in_time(wait(&answers.subscribe(), deadline))?,
            Err(error) => return Err(problem(error)),
        }
    }
    Ok(addresses)
}

/// So many addresses of a name are tried.
const ADDRESSES_MAX: usize = 16;

fn family(address: IpAddr) -> IpAddressFamily {
    match address {
        IpAddr::V4(_) => IpAddressFamily::Ipv4,
        IpAddr::V6(_) => IpAddressFamily::Ipv6,
    }
}

fn socket_address(address: IpAddr, port: u16) -> IpSocketAddress {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (a, b, c, d) })
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, g, h] = address.segments();
            let address = (a, b, c, d, e, f, g, h);
            IpSocketAddress::Ipv6(Ipv6SocketAddress { port, flow_info: 0, address, scope_id: 0 })
        }
    }
}

fn problem(error: ErrorCode) -> Problem {
    match error {
        ErrorCode::ConnectionRefused => Problem::Refused,
        ErrorCode::ConnectionReset | ErrorCode::ConnectionAborted => Problem::Reset,
        ErrorCode::RemoteUnreachable => Problem::Unreachable,
        ErrorCode::Timeout => Problem::TimedOut,
        ErrorCode::AccessDenied => Problem::Denied,
        ErrorCode::NameUnresolvable | ErrorCode::InvalidArgument => Problem::NoSuchName,
        ErrorCode::TemporaryResolverFailure | ErrorCode::PermanentResolverFailure => Problem::NameServers,
        error => Problem::System(error.name()),
    }
}
