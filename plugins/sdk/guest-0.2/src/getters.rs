//! Methods that ask the host, or outside a component the facts, for the thing of the same name.

/// Getters of plain values.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(
            $(#[$doc])*
            pub fn $name(&self $(, $argument: $type)*) -> $value {
                self.0.$name($($argument),*)
            }
        )+
    };
}

/// Getters of lists of things that are asked themselves.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident -> $part:ident;)+) => {
        $(
            $(#[$doc])*
            pub fn $name(&self) -> impl ExactSizeIterator<Item = $part> + use<> {
                self.0.$name().into_iter().map($part)
            }
        )+
    };
}

/// Getters of JSON at a pointer.
macro_rules! pointers {
    () => {
        /// The JSON text at a JSON pointer (RFC 6901) from here on; none where nothing is.
        pub fn pointer(&self, path: &str) -> Option<String> {
            self.0.pointer(path)
        }

        /// The value at a JSON pointer from here on, decoded; none where nothing is, or `null`.
        ///
        /// # Errors
        /// When the value is there, but isn't of that type.
        pub fn at<T: ::serde::de::DeserializeOwned>(&self, path: &str) -> Result<Option<T>, $crate::Error> {
            $crate::error::decode(self.pointer(path), path)
        }
    };
}
