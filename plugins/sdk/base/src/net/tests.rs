//! Tests against servers on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use super::{Operation, Problem, TcpStream, UdpSocket, in_turn};
use crate::time::Deadline;

/// What nothing good takes.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn what_is_written_arrives_and_what_comes_back_is_read_to_its_end() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a client connects");
        let mut received = [0; 4];
        stream.read_exact(&mut received).expect("four bytes");
        stream.write_all(b"pong").expect("it listens");
        received
    });
    let deadline = Deadline::after(LONG);
    let mut stream = TcpStream::connect("localhost", port, deadline).expect("it listens");
    stream.write_all(b"ping", deadline).expect("it reads");
    let mut answer = Vec::new();
    loop {
        let part = stream.read(3, deadline).expect("it answers");
        assert!(part.len() <= 3, "{part:?}");
        if part.is_empty() {
            break;
        }
        answer.extend(part);
    }
    assert_eq!((&serving.join().expect("it ends")[..], &answer[..]), (&b"ping"[..], &b"pong"[..]));
}

#[test]
fn failures_are_reported_as_upstreams_events_have_them() {
    // `tcpmux`, which no server is given by chance: a port that was free a moment ago may be another test's now.
    let port = 1;
    let refused =
        TcpStream::connect("127.0.0.1", port, Deadline::after(LONG)).expect_err("no server listens");
    assert_eq!(refused.to_string(), format!("dial tcp 127.0.0.1:{port}: connect: connection refused"));
    let nowhere = TcpStream::connect("not a name", 80, Deadline::after(LONG)).expect_err("it is no name");
    assert_eq!((nowhere.operation, nowhere.problem), (Operation::Dial, Problem::NoSuchName));
    let late = TcpStream::connect("127.0.0.1", port, Deadline::after(Duration::ZERO)).expect_err("no time");
    assert_eq!(late.to_string(), format!("dial tcp 127.0.0.1:{port}: i/o timeout"));
}

#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_allowed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let mut stream = TcpStream::connect("127.0.0.1", port, Deadline::after(LONG)).expect("it listens");
    let silent = stream.read(1, Deadline::after(Duration::from_millis(50))).expect_err("it says nothing");
    assert_eq!((silent.operation, silent.problem), (Operation::Read, Problem::TimedOut));
}

#[test]
fn datagrams_go_there_and_back_and_are_cut() {
    let server = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let deadline = Deadline::after(LONG);
    let mut socket = UdpSocket::connect("127.0.0.1", port, deadline).expect("a socket");
    socket.send(b"ping", deadline).expect("it is sent");
    let mut received = [0; 16];
    let (count, from) = server.recv_from(&mut received).expect("it comes");
    server.send_to(b"pong, and more", from).expect("it is sent");
    assert_eq!(&received[..count], b"ping");
    assert_eq!(socket.receive(4, deadline).expect("an answer"), b"pong");
    let silent = socket.receive(4, Deadline::after(Duration::from_millis(50))).expect_err("nothing more");
    assert_eq!(silent.to_string(), format!("read udp 127.0.0.1:{port}: i/o timeout"));
}

#[test]
fn an_address_that_doesnt_answer_leaves_time_for_the_others() {
    let deadline = Deadline::after(LONG);
    let turns: Vec<(&str, Duration)> =
        in_turn(vec!["a", "b", "c"], deadline).map(|(address, turn)| (address, turn.left())).collect();
    let [("a", first), ("b", second), ("c", third)] = turns[..] else { panic!("{turns:?}") };
    assert!(first <= LONG / 3 && second <= LONG / 2 && third <= LONG, "{turns:?}");
    assert!(in_turn(vec!["a"], deadline).all(|(_, turn)| turn == deadline));
}
