//! Lists and watches that outlive anything a server does.
