//! Which of a server's addresses a connection leads to, on paused time.

use tokio::time::Instant;

use super::*;

/// What an address does, by its last number.
const GOOD: u8 = 1;
const REFUSES: u8 = 2;
const SILENT: u8 = 3;
/// Answers after [`SLOW_ANSWER`].
const SLOW: u8 = 4;

const SLOW_ANSWER: Duration = Duration::from_millis(2500);

/// Connects to these addresses: the one that answered, and how long that took.
async fn connected(addresses: &[u8]) -> (Result<u8, io::ErrorKind>, Duration) {
    let begun = Instant::now();
    let connect = |address: SocketAddr| async move {
        let SocketAddr::V4(address) = address else { unreachable!("the test has none of version 6") };
        let number = address.ip().octets()[3];
        match number {
            REFUSES => return Err(io::ErrorKind::ConnectionRefused.into()),
            SILENT => std::future::pending().await,
            SLOW => tokio::time::sleep(SLOW_ANSWER).await,
            _ => {}
        }
        Ok(number)
    };
    let addresses = addresses.iter().map(|number| SocketAddr::from(([192, 0, 2, *number], 6443)));
    let answer = connect_to_any(addresses.collect(), connect).await;
    (answer.map_err(|error| error.kind()), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_silent_or_refuses_leaves_the_next_one() {
    let cases: [(&[u8], Result<u8, io::ErrorKind>, Duration); 9] = [
        (&[GOOD], Ok(GOOD), Duration::ZERO),
        (&[GOOD, SILENT], Ok(GOOD), Duration::ZERO),
        (&[REFUSES, GOOD], Ok(GOOD), Duration::ZERO),
        (&[SILENT, GOOD], Ok(GOOD), HEAD_START),
        (&[SILENT, REFUSES, GOOD], Ok(GOOD), HEAD_START),
        (&[SILENT, SILENT, GOOD], Ok(GOOD), 2 * HEAD_START),
        // Anyone who answers first counts, though others are tried next to it.
        (&[SLOW, SILENT, SILENT], Ok(SLOW), SLOW_ANSWER),
        (&[REFUSES, REFUSES], Err(io::ErrorKind::ConnectionRefused), Duration::ZERO),
        (&[], Err(io::ErrorKind::NotFound), Duration::ZERO),
    ];
    for (addresses, expected, after) in cases {
        assert_eq!(connected(addresses).await, (expected, after), "{addresses:?}");
    }
}
