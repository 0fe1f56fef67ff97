//! Reading files that grow, turn over and end in the middle.

use std::io::Write;

use witlet_core::logs::LINE_BYTES_MAX;

use super::*;

fn file(content: &str) -> (File, u64) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content.as_bytes()).expect("written");
    (file, content.len() as u64)
}

#[test]
fn the_last_lines_are_found_from_the_end() {
    let cases = [
        ("a\nb\nc\n", 0, 6),
        ("a\nb\nc\n", 1, 4),
        ("a\nb\nc\n", 2, 2),
        ("a\nb\nc\n", 3, 0),
        ("a\nb\nc\n", 9, 0),
        ("a\nb\nc", 1, 4),
        ("a\nb\nc", 2, 2),
        ("", 3, 0),
        ("\n\n", 1, 1),
    ];
    for (content, lines, expected) in cases {
        let (file, length) = file(content);
        assert_eq!(tail_offset(&file, length, lines).expect("read"), expected, "{content:?} {lines}");
    }
    // Lines that are longer than a read, and ends on its border.
    for line in [READ_BYTES - 1, READ_BYTES, READ_BYTES * 2 + 7] {
        let (file, length) = file(&format!("{}\n", "x".repeat(line)).repeat(3));
        assert_eq!(tail_offset(&file, length, 2).expect("read"), (line + 1) as u64, "{line}");
    }
}

struct OneFile(PathBuf);

#[async_trait::async_trait]
impl LogFiles for OneFile {
    async fn open(&self, _: &std::path::Path) -> Result<Option<File>, witlet_ports::FilesError> {
        Ok(File::open(&self.0).ok())
    }
}

async fn reader(path: &std::path::Path, request: &LogRequest) -> LogReader {
    let filter = LogFilter::new(request, jiff::Timestamp::UNIX_EPOCH);
    let opened = LogReader::open(Arc::new(OneFile(path.to_owned())), path.to_owned(), filter, request).await;
    opened.expect("opened").expect("there")
}

#[tokio::test]
async fn who_does_not_follow_sees_what_is_there_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("0.log");
    std::fs::write(&path, "2024-01-01T00:00:00Z stdout F one\n2024-01-01T00:00:00Z stdout F tw")
        .expect("written");
    let mut reader = reader(&path, &LogRequest::default()).await;
    let mut log = std::fs::OpenOptions::new().append(true).open(&path).expect("there");
    log.write_all(b"o\n2024-01-01T00:00:00Z stdout F three\n").expect("written");
    assert_eq!(reader.next().await.expect("read"), Piece::Shown(b"one\n".to_vec()));
    assert_eq!(reader.next().await.expect("read"), Piece::End);
    assert_eq!(reader.rest(), Some(b"tw".to_vec()));
    assert_eq!(reader.rest(), None);
}

#[tokio::test]
async fn a_line_without_measure_is_left_out_and_the_next_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("0.log");
    let endless = "x".repeat(LINE_BYTES_MAX + 1);
    let lines = format!("2024-01-01T00:00:00Z stdout F {endless}\n2024-01-01T00:00:00Z stdout F next\n");
    std::fs::write(&path, lines).expect("written");
    let mut reader = reader(&path, &LogRequest::default()).await;
    assert_eq!(reader.next().await.expect("read"), Piece::Shown(b"next\n".to_vec()));
}

#[tokio::test]
async fn a_log_that_was_cut_is_read_from_its_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("0.log");
    std::fs::write(&path, "2024-01-01T00:00:00Z stdout F one, which is longer\n").expect("written");
    let mut reader = reader(&path, &LogRequest { follow: true, ..LogRequest::default() }).await;
    assert_eq!(reader.next().await.expect("read"), Piece::Shown(b"one, which is longer\n".to_vec()));
    assert_eq!(reader.next().await.expect("read"), Piece::End);
    assert!(!reader.renew().await.expect("checked"));
    std::fs::write(&path, "2024-01-01T00:00:00Z stdout F two\n").expect("written");
    assert!(reader.renew().await.expect("checked"));
    assert_eq!(reader.next().await.expect("read"), Piece::Shown(b"two\n".to_vec()));
}
