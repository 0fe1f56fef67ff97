//! Validation: each rule by its field.
