//! Streams of a command, with a streaming server made of a script.

use tokio::io::{DuplexStream, duplex};

use super::*;

/// What the connection holds before someone reads it.
const CONNECTION_BYTES: usize = 1 << 20;

fn options(stdin: bool, tty: bool) -> ExecOptions {
    ExecOptions { stdin, tty, ..ExecOptions::default() }
}

/// Runs a command with this input against a server. What was written to both outputs, and how it ended.
async fn run<F>(
    options: ExecOptions,
    input: &[u8],
    sizes: &[TerminalSize],
    server: impl FnOnce(DuplexStream) -> F,
) -> (String, String, Result<ExecEnd, ExecError>)
where
    F: Future<Output = ()>,
{
    let (ours, theirs) = duplex(CONNECTION_BYTES);
    let (sender, receiver) = mpsc::channel(sizes.len().max(1));
    for size in sizes {
        sender.try_send(*size).expect("there is capacity");
    }
    drop(sender);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = ExecStreams { stdin: input, stdout: &mut stdout, stderr: &mut stderr, sizes: receiver };
    let (ended, ()) = tokio::join!(carry(ours, &options, streams), server(theirs));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (text(stdout), text(stderr), ended)
}

/// What comes on a stream until its end.
async fn all(stream: &mut DuplexStream, desired: u32) -> String {
    let mut read = Vec::new();
    loop {
        match spdy::read(stream).await.expect("the client is there") {
            Frame::Data { id, bytes, ends } if id == desired => {
                read.extend(bytes);
                if ends {
                    return String::from_utf8(read).expect("it is text");
                }
            }
            _ => {}
        }
    }
}

async fn say(stream: &mut DuplexStream, id: u32, bytes: &[u8]) {
    spdy::data(stream, id, bytes).await.expect("the client is there");
    spdy::end(stream, id).await.expect("the client is there");
}

fn exited(code: i32) -> Vec<u8> {
    let causes = json!([{"reason": "ExitCode", "message": code.to_string()}]);
    let status = json!({
        "status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated with non-zero exit code",
        "details": {"causes": causes},
    });
    status.to_string().into_bytes()
}

#[tokio::test]
async fn a_command_has_its_input_its_outputs_and_its_exit_code() {
    let (out, err, ended) = run(options(true, false), b"to be said back", &[], |mut stream| async move {
        let said = all(&mut stream, 3).await;
        say(&mut stream, 5, said.as_bytes()).await;
        say(&mut stream, 7, b"no good").await;
        say(&mut stream, 1, &exited(7)).await;
    })
    .await;
    assert_eq!((out.as_str(), err.as_str()), ("to be said back", "no good"));
    assert_eq!(ended.expect("it ended"), ExecEnd::Exited(7));
}

#[tokio::test]
async fn a_terminal_learns_its_sizes_and_has_one_way_out() {
    let sizes = [TerminalSize { width: 80, height: 24 }, TerminalSize { width: 100, height: 50 }];
    let (out, err, ended) = run(options(false, true), b"", &sizes, |mut stream| async move {
        let mut seen = String::new();
        while seen.lines().count() < 2 {
            // Error is 1, output 3, and the size 5.
            if let Frame::Data { id: 5, bytes, .. } =
                spdy::read(&mut stream).await.expect("the client is there")
            {
                seen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        say(&mut stream, 3, seen.as_bytes()).await;
        say(&mut stream, 1, br#"{"status":"Success"}"#).await;
    })
    .await;
    assert_eq!(out, "{\"Height\":24,\"Width\":80}\n{\"Height\":50,\"Width\":100}\n");
    assert_eq!((err.as_str(), ended.expect("it ended")), ("", ExecEnd::Exited(0)));
}

#[tokio::test]
async fn streams_that_break_off_are_an_error_and_no_success() {
    let (out, _, ended) = run(options(false, false), b"", &[], |mut stream| async move {
        spdy::data(&mut stream, 3, b"half").await.expect("the client is there");
    })
    .await;
    assert_eq!(out, "half");
    assert!(matches!(ended, Err(ExecError::Streams(_))), "{ended:?}");
}

#[tokio::test]
async fn a_ping_is_answered() {
    let (_, _, ended) = run(options(false, false), b"", &[], |mut stream| async move {
        // A server's ping has an even number.
        let ping = [&[0x80, 3, 0, 6, 0, 0, 0, 4][..], &2_u32.to_be_bytes()].concat();
        stream.write_all(&ping).await.expect("the client is there");
        while spdy::read(&mut stream).await.expect("the client is there") != Frame::Ping(vec![0, 0, 0, 2]) {}
        for id in [3, 5] {
            say(&mut stream, id, b"").await;
        }
        say(&mut stream, 1, br#"{"status":"Success"}"#).await;
    })
    .await;
    assert_eq!(ended.expect("it ended"), ExecEnd::Exited(0));
}

#[test]
fn a_path_has_the_command_word_by_word() {
    let words = ["sh", "-c", "echo \"$A\" & é"].map(str::to_owned).to_vec();
    let (namespace, pod, container) = ("default".to_owned(), "web-node".to_owned(), "app".to_owned());
    let options = ExecOptions { namespace, pod, container, command: words, stdin: true, tty: false };
    assert_eq!(
        path(&options),
        "/exec/default/web-node/app?output=1&input=1&error=1&command=sh&command=%2Dc&command=echo%20%22%24A%22%20%26%20%C3%A9"
    );
    assert!(path(&ExecOptions { tty: true, ..options }).contains("?output=1&input=1&tty=1&command="));
}

#[test]
fn an_end_is_read_from_its_status() {
    let failed = |words: &str| ExecEnd::Failed(words.to_owned());
    let internal =
        json!({"status": "Failure", "message": "error executing command: no such file"}).to_string();
    for (report, expected) in [
        (br#"{"metadata":{},"status":"Success"}"#.to_vec(), ExecEnd::Exited(0)),
        (exited(137), ExecEnd::Exited(137)),
        (internal.into_bytes(), failed("error executing command: no such file")),
        (b"something else\n".to_vec(), failed("something else")),
        (Vec::new(), failed("the runtime did not report how the command ended")),
    ] {
        assert_eq!(end(&report), expected, "{}", String::from_utf8_lossy(&report));
    }
}
