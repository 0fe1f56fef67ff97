//! Who may do what on this node's own endpoints: TokenReview and SubjectAccessReview, remembered for a while.
