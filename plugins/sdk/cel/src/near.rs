//! The name that was probably meant.

/// Longer names aren't compared: comparing costs the product of both lengths.
const NAME_BYTES_MAX: usize = 64;

/// The known name that is nearest to a misspelt one; none if none is near. Capital letters don't count.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let most = 1 + name.len() / 4;
    let distances =
        known.map(|known| (distance(&name.to_ascii_lowercase(), &known.to_ascii_lowercase()), known));
    distances
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many letters have to be put in, taken out, replaced or exchanged with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut rows =
        [vec![0; other.len() + 1], (0..=other.len()).collect::<Vec<usize>>(), vec![0; other.len() + 1]];
    for (row, letter) in one.iter().enumerate() {
        rows[2][0] = row + 1;
        for (column, other_letter) in other.iter().enumerate() {
            let replaced = rows[1][column] + usize::from(letter != other_letter);
            let mut least = replaced.min(rows[1][column + 1] + 1).min(rows[2][column] + 1);
            let exchanged =
                row > 0 && column > 0 && one[row - 1] == *other_letter && other[column - 1] == *letter;
            if exchanged {
                least = least.min(rows[0][column - 1] + 1);
            }
            rows[2][column + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][other.len()]
}
