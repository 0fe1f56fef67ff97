//! What is held back, and when it is written.

use std::sync::OnceLock;

use super::*;

/// A log in two streams that holds back this much.
fn split(held_bytes_max: usize) -> (Output, Written, Written) {
    let (errors, info) = (Written::default(), Written::default());
    (Output::split(Box::new(errors.clone()), Box::new(info.clone()), held_bytes_max), errors, info)
}

#[test]
fn one_stream_has_all_lines_at_once() {
    let written = Written::default();
    let output = Output::single(Box::new(written.clone()));
    output.write(true, b"I1\n");
    output.write(false, b"E1\n");
    assert_eq!(written.text(), "I1\nE1\n");
    assert!(!output.holds_back());
}

#[test]
fn without_a_buffer_information_is_apart_and_written_at_once() {
    let (output, errors, info) = split(0);
    output.write(true, b"I1\n");
    assert_eq!((errors.text(), info.text()), (String::new(), "I1\n".to_owned()));
    output.write(false, b"E1\n");
    assert_eq!((errors.text(), info.text()), ("E1\n".to_owned(), "I1\n".to_owned()));
    assert!(!output.holds_back());
}

#[test]
fn whole_lines_are_held_back_as_long_as_they_fit() {
    let (output, _, info) = split(6);
    assert!(output.holds_back());
    for (line, expected) in [
        ("I1\n", ""),
        ("I2\n", ""),
        ("I3\n", "I1\nI2\n"),
        ("I4: too long\n", "I1\nI2\nI3\nI4: too long\n"),
        ("I5\n", "I1\nI2\nI3\nI4: too long\n"),
    ] {
        output.write(true, line.as_bytes());
        assert_eq!(info.text(), expected, "{line}");
    }
    output.flush();
    assert!(info.text().ends_with("I5\n"));
}

#[test]
fn an_error_is_written_after_what_led_to_it() {
    let written = Written::default();
    let output = Output::split(Box::new(written.clone()), Box::new(written.clone()), 100);
    output.write(true, b"I1\n");
    output.write(false, b"W1\n");
    output.write(true, b"I2\n");
    assert_eq!(written.text(), "I1\nW1\n");
    output.write(false, b"E1\n");
    assert_eq!(written.text(), "I1\nW1\nI2\nE1\n");
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_written_each_period_and_at_the_end() {
    let (output, _, info) = split(100);
    let flushes = Flushes { output: Arc::new(output), period: Duration::from_secs(5) };
    flushes.output.write(true, b"I1\n");
    let end = flushes.during(async {
        tokio::time::sleep(Duration::from_millis(4999)).await;
        assert_eq!(info.text(), "");
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(info.text(), "I1\n");
        flushes.output.write(true, b"I2\n");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(info.text(), "I1\nI2\n");
        flushes.output.write(true, b"I3\n");
        "done"
    });
    assert_eq!(end.await, "done");
    assert_eq!(info.text(), "I1\nI2\n");
    drop(flushes);
    assert_eq!(info.text(), "I1\nI2\nI3\n");
}

/// A stream whose reader is gone.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_reader_that_is_gone_loses_lines_and_nothing_else() {
    let errors = Written::default();
    let output = Output::split(Box::new(errors.clone()), Box::new(Gone), 10);
    for _ in 0..1000 {
        output.write(true, b"I: some\n");
        output.write(true, b"I: a line that is too long\n");
    }
    output.write(false, b"E1\n");
    assert_eq!(errors.text(), "E1\n");
    let output = Output::split(Box::new(Gone), Box::new(errors.clone()), 10);
    output.write(true, b"I1\n");
    output.write(false, b"E2\n");
    assert_eq!(errors.text(), "E1\nI1\n");
}

/// A stream that is asked to write out what is held back while it writes, as by the hook of a panic.
struct SharedOutput(Arc<OnceLock<Arc<Output>>>, Written);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(output) = self.0.get() {
            output.try_flush();
        }
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_while_a_line_is_written_does_not_wait_for_itself() {
    let (asked, written) = (Arc::new(OnceLock::new()), Written::default());
    let stream = SharedOutput(asked.clone(), written.clone());
    let output = Arc::new(Output::split(Box::new(Written::default()), Box::new(stream), 10));
    assert!(asked.set(output.clone()).is_ok());
    output.write(true, b"I1\n");
    output.try_flush();
    assert_eq!(written.text(), "I1\n");
}
