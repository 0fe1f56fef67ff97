//! Tests of the parent module.

//! A port that is taken.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_port_that_becomes_free_soon_is_waited_for() {
    let first = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
    let address = first.local_addr().expect("it is bound");
    let second = listen(address, "--port");
    let freed = async {
        sleep(PORT_RETRY * 2).await;
        drop(first);
    };
    let (second, ()) = tokio::join!(second, freed);
    let second = second.expect("the first is gone");
    let third = listen(second.local_addr().expect("it is bound"), "--port").await;
    assert!(third.is_err_and(|error| error.to_string().contains("set another port with --port")));
}
