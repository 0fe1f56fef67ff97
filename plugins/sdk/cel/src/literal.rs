//! Texts and bytes as they are written: `'a\n'`, `r"\d"`, `"""…"""`, `b'\xff'`.

/// A text that was read.
pub(crate) struct Text {
    pub(crate) content: Vec<u8>,
    pub(crate) is_bytes: bool,
    /// How many bytes of the source it takes.
    pub(crate) length: usize,
}

/// What is wrong with a text, and how far behind its beginning.
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// How a text begins: letters before the quotation marks, and these.
struct Opening {
    is_bytes: bool,
    is_raw: bool,
    quotes: &'static str,
    length: usize,
}

fn opening(source: &str) -> Option<Opening> {
    let letters = source.find(|letter: char| !"rRbB".contains(letter))?;
    let prefix = source.get(..letters)?.to_ascii_lowercase();
    let (is_bytes, is_raw) = match prefix.as_str() {
        "" => (false, false),
        "r" => (false, true),
        "b" => (true, false),
        "br" | "rb" => (true, true),
        _ => return None,
    };
    let rest = &source[letters..];
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes))?;
    Some(Opening { is_bytes, is_raw, quotes, length: letters + quotes.len() })
}

/// Whether a text stands at the beginning of the source.
pub(crate) fn begins_text(source: &str) -> bool {
    opening(source).is_some()
}

/// Reads the text at the beginning of the source.
pub(crate) fn text(source: &str) -> Result<Text, Wrong> {
    let endless = || Wrong {
        at: 0,
        message: "a text doesn't end".to_owned(),
        help: Some("its quotation mark is missing"),
    };
    let Some(opening) = opening(source) else { return Err(endless()) };
    let mut content = Vec::new();
    let mut at = opening.length;
    loop {
        let rest = &source[at..];
        if rest.starts_with(opening.quotes) {
            let length = at + opening.quotes.len();
            return Ok(Text { content, is_bytes: opening.is_bytes, length });
        }
        let Some(letter) = rest.chars().next() else { return Err(endless()) };
        match letter {
            '\\' if !opening.is_raw => {
                at += escape(rest, opening.is_bytes, &mut content).map_err(|(message, help)| Wrong {
                    at,
                    message,
                    help,
                })?;
                continue;
            }
            '\n' | '\r' if opening.quotes.len() == 1 => {
                return Err(Wrong {
                    help: Some("texts of several lines stand between three quotation marks"),
                    ..endless()
                });
            }
            '\r' => content.push(b'\n'),
            _ => push(letter, &mut content),
        }
        at += letter.len_utf8();
        if letter == '\r' && source[at..].starts_with('\n') {
            at += 1;
        }
    }
}

fn push(letter: char, content: &mut Vec<u8>) {
    content.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Reads what begins with a backslash, and returns how long it was.
fn escape(
    source: &str,
    is_bytes: bool,
    content: &mut Vec<u8>,
) -> Result<usize, (String, Option<&'static str>)> {
    let Some(letter) = source[1..].chars().next() else {
        return Err(("a text doesn't end".to_owned(), None));
    };
    let simple = match letter {
        'a' => Some(0x07),
        'b' => Some(0x08),
        'f' => Some(0x0c),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'v' => Some(0x0b),
        '\\' | '\'' | '"' | '`' | '?' => Some(letter as u8),
        _ => None,
    };
    if let Some(byte) = simple {
        content.push(byte);
        return Ok(2);
    }
    let (skip, digits, radix) = match letter {
        'x' | 'X' => (2, 2, 16),
        'u' if !is_bytes => (2, 4, 16),
        'U' if !is_bytes => (2, 8, 16),
        '0'..='3' => (1, 3, 8),
        _ => {
            let help = "a backslash by itself is written \\\\, or the text begins with r as in r'\\d'";
            return Err((format!("\\{letter} has no meaning in a text"), Some(help)));
        }
    };
    let wrong = || (format!("\\{letter} needs {digits} digits"), None);
    let text = source.get(skip..skip + digits).ok_or_else(wrong)?;
    if !text.chars().all(|digit| digit.is_digit(radix)) {
        return Err(wrong());
    }
    let number = u32::from_str_radix(text, radix).map_err(|_| wrong())?;
    match (is_bytes, u8::try_from(number)) {
        (true, Ok(byte)) => content.push(byte),
        _ => {
            let letter =
                char::from_u32(number).ok_or_else(|| (format!("{text:?} is no character's number"), None))?;
            push(letter, content);
        }
    }
    Ok(skip + digits)
}
