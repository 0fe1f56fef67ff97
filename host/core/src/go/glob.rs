//! Patterns of names as `path/filepath.Match` has them: `*`, `?` and `[a-z]`, of which the first two match no slash.

/// A pattern that can be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Any number of letters, none of them a slash.
    Star,
    /// Any letter but a slash.
    Any,
    Letter(char),
    /// A letter of these ranges, or of none of them. A slash is one like any other, as in Go.
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Reads a pattern. None for one that Go calls malformed: it matches nothing.
    pub fn new(pattern: &str) -> Option<Self> {
        let mut letters = pattern.chars();
        let mut tokens = Vec::new();
        while let Some(letter) = letters.next() {
            match letter {
                // A second star adds nothing.
                '*' if tokens.last() == Some(&Token::Star) => {}
                '*' => tokens.push(Token::Star),
                '?' => tokens.push(Token::Any),
                '\\' => tokens.push(Token::Letter(letters.next()?)),
                '[' => tokens.push(class(&mut letters)?),
                letter => tokens.push(Token::Letter(letter)),
            }
        }
        Some(Self { tokens })
    }

    /// Whether the whole name is as the pattern says. Takes at most the product of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut token, mut letter) = (0, 0);
        // After the last star: the token that follows it, and where its match began.
        let mut star: Option<(usize, usize)> = None;
        while letter < name.len() || token < self.tokens.len() {
            match (self.tokens.get(token), name.get(letter)) {
                (Some(Token::Star), _) => {
                    token += 1;
                    star = Some((token, letter));
                    continue;
                }
                (Some(expected), Some(found)) if expected.fits(*found) => {
                    (token, letter) = (token + 1, letter + 1);
                    continue;
                }
                _ => {}
            }
            // The last star takes one letter more, if it may.
            let Some((after, began)) = star else { return false };
            if name.get(began).is_none_or(|taken| *taken == '/') {
                return false;
            }
            star = Some((after, began + 1));
            (token, letter) = (after, began + 1);
        }
        true
    }
}

impl Token {
    fn fits(&self, letter: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => letter != '/',
            Self::Letter(expected) => *expected == letter,
            Self::Class { is_negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *is_negated
            }
        }
    }
}

/// Returns what follows `[`, up to `]`.
fn class(letters: &mut std::str::Chars<'_>) -> Option<Token> {
    let is_negated = letters.as_str().starts_with('^');
    if is_negated {
        letters.next();
    }
    let mut ranges = Vec::new();
    while ranges.is_empty() || !letters.as_str().starts_with(']') {
        let low = member(letters)?;
        let mut high = low;
        if letters.as_str().starts_with('-') {
            letters.next();
            high = member(letters)?;
        }
        ranges.push((low, high));
    }
    letters.next();
    Some(Token::Class { is_negated, ranges })
}

/// A letter of a class; a hyphen and a closing bracket need a backslash.
fn member(letters: &mut std::str::Chars<'_>) -> Option<char> {
    match letters.next()? {
        '-' | ']' => None,
        '\\' => letters.next(),
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    //! Go's own kinds of cases of `TestMatch`.

    use super::*;

    #[test]
    fn names_match_as_go_matches_them() {
        let cases = [
            ("abc", "abc", true),
            ("*", "abc", true),
            ("*", "", true),
            ("*c", "abc", true),
            ("a*", "a", true),
            ("a*", "ab/c", false),
            ("a*/b", "abc/b", true),
            ("a*/b", "a/c/b", false),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", false),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("a*b?c*x", "abxbbxdbxebxczzy", false),
            ("**", "abc", true),
            ("ab[c]", "abc", true),
            ("ab[b-d]", "abc", true),
            ("ab[e-g]", "abc", false),
            ("ab[^c]", "abc", false),
            ("ab[^e-g]", "abc", true),
            (r"a\*b", "a*b", true),
            (r"a\*b", "ab", false),
            ("a?b", "a☺b", true),
            ("a[^a]b", "a☺b", true),
            ("a???b", "a☺b", false),
            ("a?b", "a/b", false),
            ("a[^a]b", "a/b", true),
            ("a[^/]b", "a/b", false),
            ("a[a-z/]b", "a/b", true),
            ("a[.-0]b", "a/b", true),
            ("*[/]b", "a/b", true),
            ("*[/]c", "a/b/c", false),
            ("a*b", "a/b", false),
            (r"[\]a]", "]", true),
            (r"[\-]", "-", true),
            (r"[x\-]", "-", true),
            (r"[x\-]", "z", false),
            ("*x", "xxx", true),
            ("*a*a", "aXa", true),
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
        ];
        for (pattern, name, expected) in cases {
            let glob = Glob::new(pattern).expect(pattern);
            assert_eq!(glob.matches(name), expected, "{pattern} of {name}");
        }
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for pattern in ["[]a]", "[-]", "[x-]", "[-x]", r"\", "[a-b-c]", "[", "[^", "[^bc", "a[", r"[\"] {
            assert_eq!(Glob::new(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_long_pattern_ends_soon() {
        let glob = Glob::new(&"*a".repeat(1000)).expect("a pattern");
        assert!(!glob.matches(&"a".repeat(900)));
        assert!(glob.matches(&"a".repeat(1000)));
    }
}
