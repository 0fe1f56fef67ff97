//! kubeconfig files in their common forms.
