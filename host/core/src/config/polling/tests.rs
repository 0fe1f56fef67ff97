//! What answers lead to, one poll after the other.
