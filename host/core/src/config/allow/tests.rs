//! What a source may bring: pods by rule, sets as a whole.
