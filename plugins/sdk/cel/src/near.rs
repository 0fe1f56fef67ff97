//! The name that was probably meant.

/// Longer names aren't compared: comparing costs the product of both lengths.
const NAME_BYTES_MAX: usize = 64;

/// The known name that is nearest to a misspelt one; none if none is near. Capital letters don't count.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let most = 1 + name.len() / 4;
    let name = name.to_ascii_lowercase();
    // Each letter that one has more is one step at least: most names need no table.
    let near = known.filter(|known| known.len().abs_diff(name.len()) <= most);
    let distances = near.map(|known| (strsim::osa_distance(&name, &known.to_ascii_lowercase()), known));
    distances
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
